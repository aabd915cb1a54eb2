"use strict";

// Everything is asked for relative to this page's folder: a proxy may serve it under a prefix that nobody else knows.
const folder = new URL(".", document.baseURI);

async function start() {
  const answer = await fetch(new URL("openapi.json", folder));
  if (!answer.ok) {
    throw new Error(`openapi.json: ${answer.status}`);
  }
  const description = await answer.json();
  SwaggerUIBundle({
    spec: { ...description, servers: [{ url: folder.href.replace(/\/$/, "") }] },
    dom_id: "#documentation",
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    docExpansion: "list",
    filter: true,
    persistAuthorization: false,
    queryConfigEnabled: false,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
}

start().catch((error) => {
  document.getElementById("documentation").textContent = `The documentation cannot be shown: ${error.message}`;
});
