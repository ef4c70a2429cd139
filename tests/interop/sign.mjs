// Sign one payment with the official client. Reads PaymentRequirements from standard input.
import { createEd25519Signer } from "@x402/stellar";
import { ExactStellarScheme } from "@x402/stellar/exact/client";
import { text } from "node:stream/consumers";

const accepted = JSON.parse(await text(process.stdin));
const scheme = new ExactStellarScheme(createEd25519Signer(process.env.BUYER_SECRET));
const signed = await scheme.createPaymentPayload(2, accepted);
console.log(JSON.stringify({ ...signed, accepted }));
