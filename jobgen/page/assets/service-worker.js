// Lets the page work without a network: the server's files while there is one, else the last ones.
const FRESH = { cache: "no-cache" }; // asks the server whether a file has changed
const CACHE = `jobgen-page ${self.registration.scope}`;

self.addEventListener("install", (event) => {
  event.waitUntil(cacheAll());
  self.skipWaiting();
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

async function cacheAll() {
  const cache = await caches.open(CACHE);
  const files = Object.keys((await (await fetch("files.json", FRESH)).json()).files);
  await cache.addAll(["./", ...files].map((file) => new Request(file, FRESH)));
}

self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(self.registration.scope)) {
    event.respondWith(answer(event.request));
  }
});

async function answer(request) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request.url, { ...FRESH, redirect: request.redirect });
    // A browser refuses a redirected answer for a page that it opens.
    if (response.ok && !response.redirected) await cache.put(request, response.clone());
    return response;
  } catch (error) {
    const found = await cache.match(request, { ignoreSearch: true });
    if (found) return found;
    throw error;
  }
}
