import { describe, expect, it } from 'vitest';
import type { FunctionBuilder } from '../../runtime/device/cpu/wasm/assembler/function-builder.ts';
import {
  compileWhenRead,
  instantiation,
  kernelCaches,
} from '../../runtime/device/cpu/wasm/assembler/module-builder.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { logSoftmax, rand, type Tensor } from '../../src/index.ts';

/** The exports of all modules that are compiled for `run`, as in a new process. */
function compiledFor(run: () => void): string[][] {
  const made = kernelCaches.map((cache) => cache.made);
  const { of } = instantiation;
  const modules: string[][] = [];
  for (const cache of kernelCaches) cache.made = undefined;
  instantiation.of = (...given) => {
    const instance = of(...given);
    modules.push(Object.keys(instance.exports));
    return instance;
  };
  try {
    tidy(run);
  } finally {
    instantiation.of = of;
    kernelCaches.forEach((cache, i) => {
      cache.made = made[i];
    });
  }
  return modules;
}

describe('the first use of a family of kernels', () => {
  const random = (): Tensor => rand([64, 64]);

  it('compiles no normal numbers for uniform ones', () => {
    const names = compiledFor(() => void random()).flat();
    expect(names).toContain('uniform');
    expect(names).not.toContain('normal');
  });

  it('compiles one of the softmaxes, and one of the reductions', () => {
    const ofLoss = compiledFor(() => void logSoftmax(random(), 1)).flat();
    expect(ofLoss).toContain('logSoftmax');
    expect(ofLoss).not.toContain('softmaxGrad');
    const ofSum = compiledFor(() => void random().sum()).flat();
    expect(ofSum).toContain('sum');
    expect(ofSum).not.toContain('max');
  });

  it('writes a group once, when one of it is read', () => {
    const written: string[] = [];
    const define = (name: string) => (f: FunctionBuilder) => {
      written.push(name);
      f.param();
    };
    const kernels = compileWhenRead<'a' | 'b' | 'c'>([
      { a: define('a') },
      { b: define('b'), c: define('c') },
    ]);
    expect(Object.keys(kernels)).toEqual(['a', 'b', 'c']);
    expect(written).toEqual([]);
    expect(kernels.c).toBe(kernels.c);
    expect(kernels.b).not.toBe(kernels.c);
    expect(written).toEqual(['b', 'c']);
  });
});
