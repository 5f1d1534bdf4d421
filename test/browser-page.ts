/** A bundle's page in a browser, served from a folder: the page posts what it has to say. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';

export type BrowserName = 'chromium' | 'firefox';

interface Browser {
  readonly path: string;
  readonly installed: string;
  command(profile: string, address: string): readonly string[];
  /** Files that the profile needs from the start. */
  readonly profile: Readonly<Record<string, string>>;
}

const preferences = {
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'app.update.enabled': false,
  'app.normandy.enabled': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'toolkit.startup.max_resumed_crashes': -1,
};

const browsers: Readonly<Record<BrowserName, Browser>> = {
  chromium: {
    path: '/usr/bin/chromium',
    installed: 'chromium',
    command: (profile, address) => [
      ...['--headless', '--no-sandbox', '--no-first-run', `--user-data-dir=${profile}`],
      address,
    ],
    profile: {},
  },
  firefox: {
    path: '/usr/bin/firefox-esr',
    installed: 'firefox-esr',
    command: (profile, address) => ['--headless', '--no-remote', '--profile', profile, address],
    profile: {
      'user.js': Object.entries(preferences)
        .map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`)
        .join(''),
    },
  },
};

export interface PageOptions {
  readonly browser?: BrowserName;
  /** Of the browser, beside those that make it headless. */
  readonly flags?: readonly string[];
  /** The page's content security policy. */
  readonly policy?: string;
  /** Headers of every answer, beside the policy. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Files that the server denies having. */
  readonly hidden?: RegExp;
  /** In milliseconds. */
  readonly timeout?: number;
}

// What goes wrong in the page is an answer too, so that a test says it instead of waiting. A forbidden `eval` throws
// where it is called, and trying once whether it is forbidden is no mistake.
const reportsErrors = `
  const failed = (error) => fetch('/failed', { method: 'POST', body: error?.message + '\\n' + error?.stack });
  addEventListener('error', (event) => failed(event.error ?? event));
  addEventListener('unhandledrejection', (event) => failed(event.reason));
  addEventListener('securitypolicyviolation', ({ blockedURI }) => {
    if (blockedURI !== 'eval') failed(new Error('forbidden: ' + blockedURI));
  });`;
const html =
  '<!doctype html><script src="/errors.js"></script><script type="module" src="/page.js"></script>';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

/**
 * Loads `page.js` of the folder `files` as a module, and resolves to the body that it posts.
 *
 * @throws Error with the page's own stack when the page throws, and after `timeout` milliseconds.
 */
export async function postedByPage(files: string, options: PageOptions = {}): Promise<string> {
  const { browser: name = 'chromium', flags = [], timeout = 60_000 } = options;
  const browser = browsers[name];
  if (!existsSync(browser.path)) {
    throw new Error(`no ${browser.path}: apt-get install ${browser.installed}`);
  }
  const profile = mkdtempSync(join(tmpdir(), 'tostatic-profile-'));
  for (const [file, text] of Object.entries(browser.profile))
    writeFileSync(join(profile, file), text);
  const { posted, server, address } = await serve(files, options);
  const command = [...flags, ...browser.command(profile, address)];
  // A group of its own: its helpers write to the profile, and end with it.
  const env = { ...process.env, HOME: profile };
  const child = spawn(browser.path, command, { stdio: 'ignore', detached: true, env });
  const ended = new Promise((exited) => child.once('exit', exited));
  let late: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`${name}: the page answered nothing`)), timeout);
  });
  try {
    return await Promise.race([posted, tooLate]);
  } finally {
    clearTimeout(late);
    // Until all of them have ended they write to the profile.
    process.kill(-child.pid!, 'SIGKILL');
    await ended;
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

interface Served {
  readonly posted: Promise<string>;
  readonly server: Server;
  readonly address: string;
}

async function serve(
  files: string,
  { policy, headers = {}, hidden }: PageOptions,
): Promise<Served> {
  let resolve: (body: string) => void = () => {};
  let reject: (error: Error) => void = () => {};
  const posted = new Promise<string>((fulfil, fail) => {
    resolve = fulfil;
    reject = fail;
  });
  const texts: Readonly<Record<string, string>> = { '/': html, '/errors.js': reportsErrors };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (request.method === 'POST') {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const body = Buffer.concat(parts).toString();
        if (pathname === '/failed') reject(new Error(`in the page: ${body}`));
        else resolve(body);
      });
      response.end();
      return;
    }
    const file = join(files, pathname);
    const text =
      texts[pathname] ?? (!hidden?.test(pathname) && existsSync(file) && readFileSync(file));
    if (text === false) {
      response.writeHead(404).end();
      return;
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (policy !== undefined) response.setHeader('content-security-policy', policy);
    const extension = extname(pathname === '/' ? '/index.html' : pathname);
    response.setHeader('content-type', types[extension] ?? 'text/plain').end(text);
  });
  await new Promise<void>((listening) => server.listen(0, listening));
  const { port } = server.address() as AddressInfo;
  return { posted, server, address: `http://localhost:${port}/` };
}
