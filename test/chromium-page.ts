/** A bundle's page in Chromium, served from a folder: the page posts what it has to say. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const chromium = '/usr/bin/chromium';

// What goes wrong in the page is an answer too, so that a test says it instead of waiting.
const html = `<script>
  const failed = (error) => fetch('/failed', { method: 'POST', body: String(error?.stack ?? error) });
  addEventListener('error', (event) => failed(event.error ?? event.message));
  addEventListener('unhandledrejection', (event) => failed(event.reason));
</script>
<script type="module" src="/page.js"></script>`;

/**
 * Loads `page.js` of the folder `files` as a module, and resolves to the body that it posts.
 *
 * @param flags of Chromium, beside those that make it headless.
 * @throws Error with the page's own stack when the page throws, and after `timeout` milliseconds.
 */
export async function postedByPage(
  files: string,
  flags: readonly string[] = [],
  timeout = 45_000,
): Promise<string> {
  if (!existsSync(chromium)) throw new Error(`no ${chromium}: apt-get install chromium`);
  const profile = mkdtempSync(join(tmpdir(), 'tostatic-profile-'));
  let resolve: (body: string) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const posted = new Promise<string>((fulfil, fail) => {
    resolve = fulfil;
    reject = fail;
  });
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts).toString();
        if (request.url === '/failed') reject(new Error(`in the page: ${body}`));
        else resolve(body);
      });
      response.end();
      return;
    }
    const file = join(files, request.url ?? '');
    if (request.url === '/') response.setHeader('content-type', 'text/html').end(html);
    else if (existsSync(file)) {
      response.setHeader('content-type', 'text/javascript').end(readFileSync(file));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((listening) => server.listen(0, listening));
  const { port } = server.address() as AddressInfo;
  const address = `http://localhost:${port}/`;
  const all = ['--headless', '--no-sandbox', `--user-data-dir=${profile}`, ...flags, address];
  // A group of its own: its helpers write to the profile, and end with it.
  const browser = spawn(chromium, all, { stdio: 'ignore', detached: true });
  const ended = new Promise((exited) => browser.once('exit', exited));
  const late = setTimeout(() => reject(new Error('the page answered nothing')), timeout);
  try {
    return await posted;
  } finally {
    clearTimeout(late);
    // Until all of them have ended they write to the profile.
    process.kill(-browser.pid!, 'SIGKILL');
    await ended;
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}
