// Buy through the official MCP client with payments that were signed elsewhere. Reads JSON, prints JSON.
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { url, calls } = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ name: "interop", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.listTools();
const had = [];
for (const call of calls) {
  const price = await client.callTool({ name: call.name, arguments: call.arguments });
  if (!price.isError || !price.structuredContent.accepts) throw new Error(JSON.stringify(price));
  const [first, job] = await paid(call);
  const [, again] = await paid(call);
  had.push({ job, again, is_error: first.isError, receipt: first._meta?.["x402/payment-response"]?.transaction });
}
console.log(JSON.stringify(had));
await client.close();

async function paid({ name, arguments: given, payment }) {
  let result = await client.callTool({ name, arguments: given, _meta: { "x402/payment": payment } });
  let job = JSON.parse(result.content[0].text);
  while (job.next) {
    result = await client.callTool({ name: "job_status", arguments: { id: job.id, wait: 20 } });
    job = JSON.parse(result.content[0].text);
  }
  return [result, job];
}
