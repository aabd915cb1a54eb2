/** Where the API is: the page's folder, as a proxy may serve all of it under a prefix that nobody else knows. */

export const ROOT = new URL(".", document.baseURI).href;
