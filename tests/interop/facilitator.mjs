// Ask the official facilitator. Standard input: {action: "verify" | "settle", paymentPayload, paymentRequirements}.
import { x402Facilitator } from "@x402/core/facilitator";
import { createEd25519Signer } from "@x402/stellar";
import { ExactStellarScheme } from "@x402/stellar/exact/facilitator";
import { text } from "node:stream/consumers";

const { action, paymentPayload, paymentRequirements } = JSON.parse(await text(process.stdin));
const signer = createEd25519Signer(process.env.FACILITATOR_SECRET);
const facilitator = new x402Facilitator().register("stellar:testnet", new ExactStellarScheme([signer]));
console.log(JSON.stringify(await facilitator[action](paymentPayload, paymentRequirements)));
