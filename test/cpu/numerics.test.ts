/** Portable numerics have the same bits in every engine; fused multiply-add changes bits, but eager and captured alike. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { init } from '../../runtime/init.ts';
import { portableMath } from '../../runtime/numerics/choose-numerics.ts';
import type { MathFunctions } from '../../runtime/numerics/math.ts';
import { tensor, zeros } from '../../src/index.ts';
import { withRelaxedSimd } from '../node-options.ts';
import { withSources } from '../source-process.ts';

const program = new URL('programs/numerics-sample.ts', import.meta.url).pathname;

async function sample(numerics: string): Promise<Record<string, string>> {
  const env = { ...process.env, TOSTATIC_NUMERICS: numerics, TOSTATIC_CHECK: '0' };
  const args = [...withRelaxedSimd, ...withSources, program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout) as Record<string, string>;
}

describe('results', () => {
  it('have the recorded bits with portable numerics, whatever the engine can do', async () => {
    expect(await sample('portable')).toEqual({
      numerics: 'portable: WebAssembly SIMD',
      functions: 'e523808d',
      captured: 'e523808d',
      eagerTraining: '6617cf2d',
      capturedTraining: '6617cf2d',
    });
  });

  it('are the same captured as eagerly where multiply-add is fused', async () => {
    const found = await sample('default');
    expect(found.numerics).toBe('default: WebAssembly SIMD, fused multiply-add');
    expect(found.captured).toBe(found.functions);
    expect(found.capturedTraining).toBe(found.eagerTraining);
    expect(found.eagerTraining).not.toBe('6617cf2d');
  });
});

describe('the choice of numerics', () => {
  it('is rejected after the first op, and where there is no such one', async () => {
    zeros([2]).add(1).dispose();
    await expect(init('cpu', { numerics: 'portable' })).rejects.toThrow(/before the first op/);
    await expect(init('cpu', { numerics: 'exact' as 'portable' })).rejects.toThrow(
      /no such numerics/,
    );
    await init('cpu', { numerics: 'default' });
  });
});

const bits = new BigInt64Array(1);
const double = new Float64Array(bits.buffer);

/** Float64 numbers in their order, as integers. */
function place(x: number): bigint {
  double[0] = x;
  return bits[0]! < 0n ? -(bits[0]! & 0x7fffffffffffffffn) : bits[0]!;
}

/** Numbers of float64 between two. */
function distance(x: number, y: number): number {
  if (Object.is(x, y)) return 0;
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.POSITIVE_INFINITY;
  const steps = Number(place(x) - place(y));
  // −0 and 0 are adjacent, but one is not the other.
  return steps === 0 ? Number.POSITIVE_INFINITY : Math.abs(steps);
}

const engine: Partial<MathFunctions> = { exp2: (x) => 2 ** x, pow: (x, y) => x ** y };

const ofTwo = ['pow', 'atan2'] as const;
const ofOne = (Object.keys(portableMath) as (keyof MathFunctions)[]).filter(
  (name): name is Exclude<keyof MathFunctions, (typeof ofTwo)[number]> =>
    !(ofTwo as readonly string[]).includes(name),
);

const anyNumber = fc.oneof(
  fc.double(),
  fc.double({ min: -1, max: 1 }),
  fc.double({ min: -50, max: 50 }),
  fc.constantFrom(0, -0, 1, -1, 0.5, 2, 10, 1000, 5e-324, 1e-310, 709.78, -745.13, 1e22),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, Math.PI),
);

describe('functions of float64 in WebAssembly', () => {
  it.each([
    ['exp', 1],
    ['log', 1],
    ['tanh', 2],
  ] as const)('%s is within %i units in the last place of the portable one', (name, most) => {
    fc.assert(
      fc.property(fc.array(anyNumber, { minLength: 1, maxLength: 64 }), (values) => {
        using x = tensor(Float64Array.from(values));
        using y = x[name]();
        y.dataSync().forEach((found, i) => {
          const known = portableMath[name](values[i]!);
          expect(distance(found, known), `${name}(${values[i]}) = ${found}`).toBeLessThanOrEqual(
            most,
          );
        });
      }),
      { numRuns: 300 },
    );
  });

  it('e and its logarithm are the nearest numbers', () => {
    using x = tensor(Float64Array.of(0, 1, Math.E, 1024));
    using exponentials = x.exp();
    using logarithms = x.log();
    expect([...exponentials.dataSync()].slice(0, 2)).toEqual([1, Math.E]);
    expect([...logarithms.dataSync()]).toEqual([-Infinity, 0, 1, 10 * Math.LN2]);
  });
});

describe('portable functions', () => {
  it.each(ofOne)('%s is within 4 units in the last place of the engine', (name) => {
    const known = engine[name] ?? Math[name as 'exp'];
    fc.assert(
      fc.property(anyNumber, (x) => {
        expect(distance(portableMath[name](x), known(x))).toBeLessThanOrEqual(4);
      }),
      { numRuns: 500 },
    );
  });

  it.each(ofTwo)('%s is within 2 units in the last place of the engine', (name) => {
    const known = engine[name] ?? Math[name as 'atan2'];
    fc.assert(
      fc.property(anyNumber, anyNumber, (x, y) => {
        // C's powers of ±1, not JavaScript's.
        fc.pre(name !== 'pow' || Math.abs(x) !== 1);
        expect(distance(portableMath[name](x, y), known(x, y))).toBeLessThanOrEqual(2);
      }),
      { numRuns: 2000 },
    );
  });

  it('log10 of powers of ten and log2 of powers of two are exact', () => {
    for (let n = -300; n <= 300; n++) {
      expect(portableMath.log2(2 ** n)).toBe(n);
      expect(portableMath.exp2(n)).toBe(2 ** n);
    }
    for (let n = 0; n <= 22; n++) expect(portableMath.log10(10 ** n)).toBe(n);
  });
});
