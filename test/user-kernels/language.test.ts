/** The language of users' kernels: captured and eager alike, what the function itself computes, minified or not. */

import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import {
  ArgumentError,
  deviceGuard,
  gpuKernel,
  grad,
  memory,
  randn,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
  zeros,
} from '../../src/index.ts';
import { expectClose } from '../ops/eager.ts';
import { kernelCases } from './language-kernels.ts';

const bits = (x: Tensor) => [...new Int32Array(new Float32Array(x.contiguous().dataSync()).buffer)];
const all = Object.entries(kernelCases);
const differentiable = all.filter(([, each]) => each.differentiable);

describe('user-kernels/language', () => {
  it.each(all)('%s is captured as one op, with the bits of eager execution', (_name, each) => {
    tidy(() => {
      const captured = toStatic(each.call, { fullGraph: true });
      for (const run of [1, 2]) {
        seed(run);
        const inputs = each.inputs();
        const [eager, found] = [each.call(...inputs), captured(...inputs)];
        expect(found.shape).toEqual(eager.shape);
        expect(bits(found)).toEqual(bits(eager));
      }
      expect(captured.stats()).toMatchObject({ ops: 1, breaks: [], fallbacks: [] });
    });
  });

  it.each(all)('%s computes what its function does', (_name, each) => {
    tidy(() => {
      seed(5);
      const inputs = each.inputs();
      const found = each.call(...inputs);
      const [x = 1, y = 1, z = 1] = [...found.shape].reverse();
      const { plain, constants } = each.of;
      const arrays = inputs.map((input) => input.toArraySync());
      const expected = Array.from({ length: x * y * z }, (_, i) => {
        const thread = { x: i % x, y: Math.floor(i / x) % y, z: Math.floor(i / (x * y)) };
        const self = { thread, output: { x, y, z }, constants };
        const value: number | undefined = plain.call(self, ...arrays);
        return Math.fround(value ?? NaN);
      });
      expectClose(found.contiguous().dataSync(), expected, 'the kernel');
    });
  });

  it.each(differentiable)(
    '%s has the gradient that finite differences have, eagerly and captured',
    (_name, { call, inputs }) => {
      tidy(() => {
        seed(3);
        const given = inputs().map((each) => each.contiguous().detach().requiresGrad_());
        const weights = randn(call(...given.map((each) => each.detach())).shape);
        const loss = (...operands: Tensor[]) =>
          call(...operands)
            .mul(weights)
            .sum();
        const eager = grad(loss(...given), given).map((each) => each!);
        const captured = toStatic(loss, { fullGraph: true });
        const found = grad(captured(...given), given).map((each) => each!);
        expect(found.map(bits)).toEqual(eager.map(bits));
        given.forEach((x, i) => {
          const values = [...x.dataSync()];
          const gradient = eager[i]!.dataSync();
          values.forEach((value, at) => {
            const lossAt = (moved: number) => {
              const there = given.map((other, k) =>
                k === i ? tensor(values.with(at, moved)).reshape(x.shape) : other.detach(),
              );
              return loss(...there).itemSync();
            };
            const slope = (lossAt(value + 1e-2) - lossAt(value - 1e-2)) / 2e-2;
            expect(gradient[at]).toBeCloseTo(slope, 2);
          });
        });
      });
    },
  );

  it('is the same in a minified source', async () => {
    const written = `exports.fn = function (a, limit) {
      let best = -1, count = 0;
      for (let k = 0; k < this.constants.most; k++) {
        const value = a[this.thread.y][k];
        if (value > limit) { count++; continue; }
        if (!(value < 0) || k === 2) best = k; else best = best + 0.5;
      }
      if (count > 2 && best > 0) return best;
      const rest = count * 2;
      return count === 0 ? -1 : rest / count + best;
    };`;
    const { code } = await transform(written, { minify: true });
    expect(code).not.toContain('best');
    tidy(() => {
      const options = { shape: [6, 1], constants: { most: 5 }, gradient: null };
      const [a, limit] = [randn([6, 5]), tensor(0.5)];
      const run = (source: string) => {
        const call: unknown = gpuKernel(evaluate(source), options);
        return (call as (...operands: Tensor[]) => Tensor)(a, limit);
      };
      expect(bits(run(code))).toEqual(bits(run(written)));
    });
  });

  it('has shapes on meta, and takes the bytes that were planned, strided operands included', () => {
    tidy(() => {
      const { call } = kernelCases.sigmoid!;
      const step = toStatic((x: Tensor) => call(call(x.transpose(0, 1))).sum(), {
        fullGraph: true,
      });
      const x = deviceGuard('meta', () => zeros([8, 16]));
      expect(call(x).shape).toEqual([8, 16]);
      expect(step(x).shape).toEqual([]);
      const real = randn([8, 16]);
      step(real);
      const before = memory.stats('cpu').allocated;
      memory.reset('cpu');
      step(real);
      const measured = memory.stats('cpu').peakAllocated - before;
      expect(measured).toBe(step.programs().at(-1)?.stages?.planned.forward.predicted.peakBytes);
    });
  });

  const refused: readonly (readonly [source: string, says: string])[] = [
    ['function (a) { return a[this.thread.x] | 0; }', 'the operator |'],
    ['function (a) { return Math.pow(2); }', '1 arguments for Math.pow(2)'],
    ['function (a) { if (a[0] > 1) return 1; }', 'does not end with return'],
    ['function (a) { return a[0] + a[0][1]; }', '2 indices, and 1 elsewhere: a[0][1]'],
    ['function (a) { try { return 1; } finally { } }', 'a TryStatement'],
    ['function (a) { return; }', 'a return without a number'],
    ['function ({ a }) { return 1; }', 'a parameter that is not a plain name'],
    ['function (a, b, c, d, e, f, g, h) { return 1; }', 'more than 7 operands'],
    ['function (a) { return "text"; }', 'a Literal "text"'],
    ['function (a) { return this.thread.w; }', 'this.thread.w'],
    ['async function (a) { return 1; }', 'a function that stops'],
  ];
  it.each(refused)('rejects %s', (source, says) => {
    const make = () => gpuKernel(evaluate(`exports.fn = ${source}`), { shape: [1] });
    expect(make).toThrow(ArgumentError);
    expect(make).toThrow(says);
  });
});

/** CommonJS that sets `exports.fn`. */
function evaluate(code: string): Parameters<typeof gpuKernel>[0] {
  const exports: Record<string, unknown> = {};
  new Function('exports', code)(exports);
  return exports.fn as Parameters<typeof gpuKernel>[0];
}
