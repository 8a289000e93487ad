// Lets the page work without a network: the server's files while there is one, else the last ones.
const FRESH = { cache: "no-cache" }; // asks the server whether a file has changed
const KEPT = `jobgen-page ${self.registration.scope}`;

self.addEventListener("install", (event) => {
  event.waitUntil(keepAll());
  self.skipWaiting();
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

async function keepAll() {
  const kept = await caches.open(KEPT);
  const files = await (await fetch("files.json", FRESH)).json();
  await kept.addAll(["./", ...files].map((file) => new Request(file, FRESH)));
}

self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(self.registration.scope)) {
    event.respondWith(answer(event.request));
  }
});

async function answer(request) {
  const kept = await caches.open(KEPT);
  try {
    const response = await fetch(request.url, FRESH);
    if (response.ok) await kept.put(request, response.clone());
    return response;
  } catch (error) {
    const found = await kept.match(request, { ignoreSearch: true });
    if (found) return found;
    throw error;
  }
}
