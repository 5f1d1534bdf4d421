/** Threads come, go and die: processes end by themselves, and what is lost has a name. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { partArgumentsAt } from '../../runtime/device/cpu/core/heap.ts';
import { closed, partMask, words } from '../../runtime/device/cpu/threads/control.ts';
import { ThreadPool } from '../../runtime/device/cpu/threads/pool.ts';
import type { startThread } from '../../runtime/device/cpu/threads/worker.ts';
import { byteKernels } from '../../runtime/device/cpu/wasm/byte-kernels.ts';
import { ArgumentError, DeviceError, init } from '../../runtime/index.ts';

const permission = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

interface Printed {
  readonly shared: boolean;
  readonly isSame: boolean;
  readonly idle: number;
}

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tostatic-threads-'));
  await build({
    entryPoints: [join(import.meta.dirname, 'fixtures/work.ts')],
    outfile: join(folder, 'work.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['gpu.js', 'webgpu'],
    logLevel: 'error',
  });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the fixture prints; it is ended, and this fails, if it doesn't end by itself. */
async function printed(where: string, flags: readonly string[] = []): Promise<Printed> {
  const args = ['--no-warnings', ...flags, join(folder, 'work.mjs'), where];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 50_000 });
  return JSON.parse(stdout) as Printed;
}

describe('threads/a process', () => {
  it('shares work, is idle when it has none, and ends by itself', async () => {
    const { idle, ...rest } = await printed('main');
    expect(rest).toEqual({ shared: true, isSame: true });
    expect(idle).toBeLessThan(100);
  });

  it('shares work inside a worker too', async () => {
    expect(await printed('worker')).toMatchObject({ shared: true, isSame: true });
  });

  it('computes on one thread where it may have no others', async () => {
    expect(await printed('main', [permission, '--allow-fs-read=*'])).toMatchObject({
      shared: false,
      isSame: true,
    });
  });
});

/** Fills `parts` runs of 64 bytes, each as a part of its own. */
function fillParts(pool: ThreadPool, parts: number): void {
  for (let part = 0; part < parts; part++) {
    pool.numbers.set([partArgumentsAt + part * 64, part, 64], part * 3);
  }
  pool.run(byteKernels().fill, parts, 3);
}

/** A thread that takes one part and ends before it is done. */
const takesAndDies: typeof startThread = ({ control, thread }, ended) => {
  const source = `
    const { control, thread } = require('node:worker_threads').workerData;
    const words = new Int32Array(control);
    Atomics.store(words, ${words.begun} + thread, 1);
    for (let taken = false; !taken; ) {
      const claim = Atomics.load(words, ${words.claim});
      const part = claim & ${partMask};
      if (part === ${closed} || part >= Atomics.load(words, ${words.parts})) continue;
      taken = Atomics.compareExchange(words, ${words.claim}, claim, claim + 1) === claim;
    }
    process.exit();`;
  const worker = new Worker(source, { eval: true, workerData: { control, thread } });
  worker.on('exit', () => ended());
  return { worker, end: () => void worker.terminate() };
};

describe('threads/a pool', () => {
  const pools: ThreadPool[] = [];
  const poolOf = (...args: ConstructorParameters<typeof ThreadPool>): ThreadPool => {
    const made = new ThreadPool(...args);
    pools.push(made);
    return made;
  };
  afterEach(() => {
    for (const each of pools.splice(0)) each.end();
    vi.restoreAllMocks();
  });

  it('has an error for a part that is lost with its thread, and one thread afterwards', async () => {
    const pool = poolOf(2, { start: takesAndDies, patience: 300 });
    await pool.ready();
    expect(pool.shares(1e9)).toBe(true);
    // On a busy machine the thread may sleep through the first ones.
    const run = () => {
      const end = performance.now() + 30_000;
      while (performance.now() < end) fillParts(pool, 1000);
    };
    expect(run).toThrow(DeviceError);
    expect(pool.threads).toBe(1);
    expect(pool.shares(1e9)).toBe(false);
  });

  it('goes on when a thread dies between kernels, and says so', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const started: Worker[] = [];
    const { startThread: start } = await import('../../runtime/device/cpu/threads/worker.ts');
    const pool = poolOf(3, {
      start: (own, ended) => {
        const handle = start(own, ended);
        started.push(handle.worker as Worker);
        return handle;
      },
    });
    await pool.ready();
    await started[0]!.terminate();
    await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce());
    expect(warn.mock.calls[0]![0]).toMatch(/thread 1 of the CPU device is gone/);
    expect(pool.shares(1e9)).toBe(true);
    for (let i = 0; i < 100; i++) fillParts(pool, 20);
  });

  it('throws what a part throws', async () => {
    const pool = poolOf(3);
    await pool.ready();
    const outside = () => {
      for (let part = 0; part < 9; part++) pool.numbers.set([2 ** 32 - 1, 1, 2 ** 31], part * 3);
      pool.run(byteKernels().fill, 9, 3);
    };
    expect(outside).toThrow();
  });

  it('takes many jobs, of any number of parts, without losing one', async () => {
    const pool = poolOf(4);
    await pool.ready();
    for (let job = 0; job < 3000; job++) fillParts(pool, 1 + (job % 40));
    pool.threads = 2;
    for (let job = 0; job < 300; job++) fillParts(pool, 1 + (job % 40));
    pool.threads = 4;
    for (let job = 0; job < 300; job++) fillParts(pool, 1024);
  });

  it.each([0, 1.5, 17, Number.NaN])('refuses %d threads', async (threads) => {
    await expect(init('cpu', { threads })).rejects.toThrow(ArgumentError);
  });
});
