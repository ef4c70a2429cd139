"use strict";
const main = () => document.querySelector("main");
const find = (id) => document.getElementById(id);

// The server writes the page; for a new state its main part is taken from the same page again.
async function renew() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok) return;
  const text = await answer.text();
  const part = document.createElement("template");
  part.innerHTML = text.slice(text.indexOf("<main"), text.lastIndexOf("</main>"));
  main().replaceWith(part.content.firstElementChild);
  document.title = main().dataset.title;
  find("told").textContent = find("headline").textContent;
  spellTimes();
}

function spellTimes() {
  for (const time of document.querySelectorAll("time")) {
    time.textContent = new Date(time.dateTime).toLocaleString();
  }
}

// Small changes are made in place, so that nothing flickers.
function progress(job) {
  const { done, total, message } = job.progress;
  if (!find("bar")) return renew();
  find("count").textContent = total ? `${done} of ${total}` : done;
  find("message").textContent = message ?? "";
  if (!total) return;
  const percent = Math.max(0, Math.min(100, Math.floor((100 * done) / total)));
  find("bar").max = 100;
  find("bar").value = percent;
  document.title = `${percent} % · ${job.service}`;
}

function position(job) {
  if (!find("position")) return renew();
  find("position").textContent = job.queue.position;
  find("start").textContent = job.queue.estimatedStartSeconds;
}

function follow() {
  const source = new EventSource(`${location.pathname}/events`);
  const on = (name, change) =>
    source.addEventListener(name, async (event) => {
      if (event.lastEventId !== main().dataset.event) await change(JSON.parse(event.data));
      if ("final" in main().dataset) source.close();
    });
  on("status", renew);
  on("progress", progress);
  on("position", position);
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED || "final" in main().dataset) return;
    setTimeout(() => renew().finally(follow), 10000);
  };
}

spellTimes();
if (!("final" in main().dataset)) follow();
