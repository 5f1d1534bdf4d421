import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { skipGpu } from './open-gpu.ts';

const chromium = '/usr/bin/chromium';
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu-sandbox',
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
];
const folder = fileURLToPath(new URL('.', import.meta.url));

describe.skipIf(skipGpu)('gpu/browser', () => {
  let place = '';
  let server: Server | undefined;
  let browser: ChildProcess | undefined;
  let posted: (body: string) => void = () => {};

  beforeAll(async () => {
    if (!existsSync(chromium)) throw new Error(`no ${chromium}: apt-get install chromium`);
    place = mkdtempSync(join(tmpdir(), 'tostatic-page-'));
    await build({
      root: folder,
      configFile: false,
      logLevel: 'error',
      build: {
        outDir: join(place, 'out'),
        target: 'es2022',
        minify: true,
        rollupOptions: {
          input: join(folder, 'browser-page.ts'),
          output: { entryFileNames: 'page.js' },
        },
      },
    });
    server = createServer((request, response) => {
      if (request.method === 'POST') {
        let body = '';
        request.on('data', (part: Buffer) => {
          body += String(part);
        });
        request.on('end', () => posted(body));
        response.end();
        return;
      }
      const file = join(place, 'out', request.url ?? '');
      if (request.url === '/') {
        response.setHeader('content-type', 'text/html');
        response.end('<script type="module" src="/page.js"></script>');
      } else if (existsSync(file)) {
        response.setHeader('content-type', 'text/javascript');
        response.end(readFileSync(file));
      } else {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server!.listen(0, resolve));
    // Bundling shares two cores with the other test files.
  }, 60_000);

  afterAll(async () => {
    if (browser) {
      // Until all of them have ended they write to the profile.
      const ended = new Promise((resolve) => browser!.once('exit', resolve));
      process.kill(-browser.pid!, 'SIGKILL');
      await ended;
    }
    server?.close();
    if (place) rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });

  it('computes in a page over WebGPU, bundled and minified', async () => {
    const { port } = server!.address() as AddressInfo;
    const result = new Promise<string>((resolve, reject) => {
      posted = resolve;
      setTimeout(() => reject(new Error('the page answered nothing')), 45_000).unref();
    });
    const profile = `--user-data-dir=${join(place, 'profile')}`;
    browser = spawn(chromium, [...flags, profile, `http://localhost:${port}/`], {
      stdio: 'ignore',
      // A group of its own: its helpers write to the profile, and end with it.
      detached: true,
    });
    expect(JSON.parse(await result)).toEqual({
      product: [42, 96, 96, 231],
      changed: [1, 12, 13, 4, 15, 16],
    });
  });
});
