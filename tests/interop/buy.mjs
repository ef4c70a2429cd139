// Buy a call with the official fetch wrapper: buy.mjs URL [JSON]. Follows Location until the job is final.
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { createEd25519Signer } from "@x402/stellar";
import { ExactStellarScheme } from "@x402/stellar/exact/client";

const [url, body] = process.argv.slice(2);
const signer = createEd25519Signer(process.env.BUYER_SECRET);
const client = new x402Client().register("stellar:testnet", new ExactStellarScheme(signer));
const requests = [];
const counting = async (request) => {
  const payment = request.headers.get("PAYMENT-SIGNATURE");
  requests.push({ method: request.method, paid: payment !== null, size: payment?.length ?? 0 });
  return fetch(request);
};

const init = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body };
let answer = await wrapFetchWithPayment(counting, client)(url, init);
const seen = [await describe(answer)];
while (answer.status === 202) {
  answer = await fetch(new URL(answer.headers.get("Location"), url), { headers: { Prefer: "wait=10" } });
  seen.push(await describe(answer));
}
console.log(JSON.stringify({ requests, seen }));

async function describe(response) {
  const receipt = response.headers.get("PAYMENT-RESPONSE");
  return {
    status: response.status,
    receipt: receipt && decodePaymentResponseHeader(receipt),
    body: await response.json(),
  };
}
