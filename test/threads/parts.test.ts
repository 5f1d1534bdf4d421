/** Parts of jobs: collecting them allocates nothing, and a job that fails leaves none to the next one. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpu } from '../../runtime/device/cpu/cpu-device.ts';
import { pool } from '../../runtime/device/cpu/threads/pool.ts';
import type { Launch, Operand } from '../../runtime/device/device.ts';
import { Holder } from '../../runtime/device/holder.ts';
import type { KernelName } from '../../runtime/device/kernel-names.ts';
import type { Attrs } from '../../runtime/device/kernel-op.ts';
import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { DeviceError, init } from '../../runtime/index.ts';
import { contiguousStrides, type Shape, sizeOf } from '../../runtime/spec/shape.ts';
import { kernelNamed } from '../cpu/kernel-named.ts';

type Placed = TensorMeta & Operand;

const holders: Holder[] = [];

beforeAll(async () => {
  await init('cpu', { threads: 2 });
  await pool.ready();
});

afterAll(() => {
  for (const holder of holders) holder.release();
  pool.threads = 1;
});

function placed(shape: Shape, strides = contiguousStrides(shape)): Placed {
  const holder = new Holder(cpu, sizeOf(shape) * 4);
  holders.push(holder);
  return { dtype: 'float32', shape, strides, offset: 0, device: cpu, holder };
}

/** Runs `body` with all work shared, and with `run` in place of the threads. */
function withJobs(run: typeof pool.run, body: () => void): void {
  Object.assign(pool, { run, shares: () => true });
  try {
    body();
  } finally {
    for (const name of ['run', 'shares']) Reflect.deleteProperty(pool, name);
  }
}

const nothing = (): void => {};

/** The parts of each job of a launch. */
function jobsOf(launch: () => void): readonly number[] {
  const jobs: number[] = [];
  withJobs((_, parts) => void jobs.push(parts), launch);
  return jobs;
}

/** The bytes of one launch in the JavaScript heap: the least of some rounds, since compilers allocate too. */
function bytesOf(launch: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  withJobs(nothing, () => {
    for (let round = 0; round < 12; round++) {
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < 200; i++) launch();
      const bytes = process.memoryUsage().heapUsed - before;
      // The collector has run.
      if (bytes >= 0) least = Math.min(least, bytes / 200);
    }
  });
  return least;
}

type Case = readonly [
  name: KernelName,
  inputs: readonly Placed[],
  outputs: readonly Placed[],
  attrs?: Attrs,
];

const window = { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1 };
const strided = { ...window, stride: [2, 2] };
const rowwise = { view: [4096, 256], over: [1], weightShape: [256], eps: 1e-5, centered: true };

const cases = (): readonly Case[] => {
  const [image, filter] = [placed([64, 16, 16, 16]), placed([16, 16, 3, 3])];
  const [small, rows] = [placed([64, 16, 8, 8]), placed([4096, 256])];
  const [wide, square] = [placed([16, 96, 8, 8]), placed([96, 96, 3, 3])];
  const [statistics, perRow] = [placed([4096, 2]), placed([256])];
  return [
    ['conv2d', [image, filter], [placed([64, 16, 16, 16])], window],
    ['conv2dInputGrad', [small, filter, image], [placed([64, 16, 16, 16])], strided],
    ['conv2dWeightGrad', [wide, wide, square], [placed([96, 96, 3, 3])], window],
    ['matmul', [placed([1024, 256]), placed([256, 1024])], [placed([1024, 1024])]],
    ['matmul', [placed([1, 1024]), placed([1024, 4096])], [placed([1, 4096])]],
    ['softmax', [rows], [placed([4096, 256])]],
    ['standardizeByStats', [rows, statistics, perRow, perRow], [placed([4096, 256])], rowwise],
    ['copy', [placed([2048, 1024], [1, 2048])], [placed([2048, 1024])]],
    ['sum', [rows], [placed([4096])], { dims: [1], keepdim: false }],
  ];
};

const launchOf = ([name, inputs, outputs, attrs = {}]: Case): (() => void) => {
  const launch: Launch = kernelNamed[name](inputs, outputs, attrs);
  return () => launch(inputs, outputs);
};

describe('threads/parts', () => {
  it('a launch allocates nothing for each of its parts', () => {
    const found = cases().map((each) => {
      const launch = launchOf(each);
      const parts = jobsOf(launch).reduce((sum, count) => sum + count, 0);
      return { name: each[0], parts, bytes: bytesOf(launch) };
    });
    expect(found.filter(({ parts }) => parts < 8)).toEqual([]);
    // A list of a part's arguments takes 88 bytes and more; some closures of a launch remain.
    expect(found.filter(({ parts, bytes }) => bytes > 1024 + 24 * parts)).toEqual([]);
  });

  it('a launch after one that failed runs its own parts only', () => {
    const failing = () => {
      throw new DeviceError({
        what: 'a job',
        given: 'a lost thread',
        expected: 'all',
        remedy: '-',
      });
    };
    for (const each of cases()) {
      const launch = launchOf(each);
      const jobs = jobsOf(launch);
      withJobs(failing, () => expect(launch, each[0]).toThrow(DeviceError));
      expect(jobsOf(launch), each[0]).toEqual(jobs);
    }
  });
});
