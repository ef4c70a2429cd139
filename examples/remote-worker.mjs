// A remote worker in Node 20, without dependencies: PROVIDER_URL=… PROVIDER_WORKER_TOKEN=… node remote-worker.mjs
const { PROVIDER_URL, PROVIDER_WORKER_TOKEN } = process.env;
const [services, headers] = [["primes"], { Authorization: `Bearer ${PROVIDER_WORKER_TOKEN}` }];
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function post(path, body) {
  const answer = await fetch(`${PROVIDER_URL}/worker/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

// The work itself: `tell` takes progress and checkpoints, and throws when the job is not ours any more.
async function primes({ below }, cursors, tell) {
  let { at, count, largest } = cursors.all ?? { at: 2, count: 0, largest: 0 };
  while (at < below) {
    for (const end = Math.min(at + 50_000, below); at < end; at++) {
      let divisor = 2;
      while (divisor * divisor <= at && at % divisor) divisor++;
      if (divisor * divisor > at) (count++, (largest = at));
    }
    await tell("checkpoint", { checkpoints: [{ unit: "all", cursor: { at, count, largest } }] });
    await tell("progress", { progress: { done: at, total: below } });
  }
  return { count, largest };
}

let [stopping, wake] = [false, () => {}];
async function run({ id, lease, leaseSeconds, input, cursors }) {
  let over = "";
  const tell = async (what, said) => {
    if (stopping) over = "release";
    const answer = over ? { accepted: false } : await post(`jobs/${id}/${what}`, { lease, ...said });
    if (answer.cancel) over = "fail";
    if (!answer.accepted || over) throw new Error(answer.reason ?? over);
  };
  const heart = setInterval(() => tell("renew").catch(() => {}), (leaseSeconds * 1000) / 3);
  try {
    await tell("complete", { output: await primes(input, cursors, tell) });
  } catch (error) {
    console.error(id, error.message);
    const said = over === "release" ? { lease } : { lease, class: "error", message: String(error) };
    await post(`jobs/${id}/${over || "fail"}`, said).catch(() => {});
  } finally { clearInterval(heart); }
}

async function listen() {
  const stream = await fetch(`${PROVIDER_URL}/worker/events?services=${services}`, { headers });
  for await (const chunk of stream.body) if (Buffer.from(chunk).includes("data:")) wake();
}
(async () => { for (;;) await listen().catch(() => {}).then(() => pause(3000)); })();

process.on("SIGTERM", () => { stopping = true; wake(); });
while (!stopping) {
  const news = new Promise((heard) => (wake = heard)); // An announcement is a wake-up, and no reservation.
  const { job } = await post("claims", { services }).catch((error) => (console.error(error.message), {}));
  if (job) await run(job);
  else if (!stopping) await Promise.race([pause(30_000), news]);
}
process.exit(0);
