import { describe, expect, it } from 'vitest';
import type * as distributions from '../../runtime/distributions/index.ts';
import { grad, onesLike, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { allocated, expectClose } from '../ops/eager.ts';
import {
  computed,
  constructed,
  made,
  operandsOf,
  type Precision,
  type RecordedDistribution,
  type RecordedTensor,
  recordedDistributions,
  resultsOf,
} from './recorded.ts';

type Distribution = distributions.Distribution;

const tolerances = {
  float64: { relative: 1e-8, absolute: 1e-9 },
  float32: { relative: 3e-4, absolute: 3e-5 },
} as const;

/** Returns each result followed by its gradients, in the order of the recorded ones. */
function run(
  record: RecordedDistribution,
  parameters: readonly Tensor[],
  value: Tensor,
  probability: Tensor | null,
): (Tensor | null)[] {
  const left = [...parameters];
  const next = () => left.shift()!;
  const p = constructed(record.p, next) as Distribution;
  const own = parameters.slice(0, parameters.length - left.length);
  const q = record.q ? (constructed(record.q, next) as Distribution) : null;
  return resultsOf(record).flatMap((name) => {
    const result = computed(name, p, q, value, probability);
    const recorded = record[`${name}Grads`];
    if (!recorded) return [result];
    const inputs = [
      ...(name === 'kl' ? parameters : own),
      ...(name === 'logProb' || name === 'cdf' ? [value] : []),
    ].filter(({ requiresGrad }) => requiresGrad);
    const gradOutputs = [weightsFor(result)];
    return [
      result,
      ...grad([result], inputs, { gradOutputs, allowUnused: true, retainGraph: true }),
    ];
  });
}

/** The weights of the recorded gradients: from 0.5 to 1.5. */
function weightsFor(result: Tensor): Tensor {
  const count = result.numel();
  const step = count > 1 ? 1 / (count - 1) : 0;
  return onesLike(result.detach())
    .flatten()
    .cumsum(0)
    .sub(1)
    .mul(step)
    .add(0.5)
    .reshape(result.shape);
}

const expectedOf = (record: RecordedDistribution): (RecordedTensor | null)[] =>
  resultsOf(record).flatMap((name) => [record[name]!, ...(record[`${name}Grads`] ?? [])]);

const inputsOf = (record: RecordedDistribution, precision: Precision) => {
  const parameters = operandsOf([record.p, record.q ?? null]).map((own) => made(own, precision));
  const value = made(record.value, precision);
  return [
    parameters,
    value,
    record.probability ? made(record.probability, precision) : null,
  ] as const;
};

const names = [...new Set(recordedDistributions.map((record) => record.p.new))];

describe("distributions give PyTorch's recorded results and gradients", () => {
  describe.each(names)('%s', (name) => {
    const own = recordedDistributions.filter((record) => record.p.new === name);

    it.each(['float64', 'float32'] as const)('in %s', (precision) => {
      const before = allocated();
      for (const record of own) {
        // Logarithms of 0 are clamped to those of the dtype's spacing.
        if (record.double && precision === 'float32') continue;
        tidy(() => {
          const inputs = inputsOf(record, precision);
          const left = [...inputs[0]];
          const p = constructed(record.p, () => left.shift()!) as Distribution;
          expect(p.batchShape).toEqual(record.batchShape);
          expect(p.eventShape).toEqual(record.eventShape);
          if (record.support) {
            expect(p.enumerateSupport().tolist()).toEqual(made(record.support, precision).tolist());
          }
          const found = run(record, ...inputs);
          expectedOf(record).forEach((expected, i) => {
            const what = `${JSON.stringify(record.p).slice(0, 300)} ${i}`;
            const result = found[i]!;
            if (!expected || !result) {
              const lost = [result?.tolist(), expected?.tensor]
                .flat(9)
                .filter((x) => x !== undefined);
              expect(
                lost.every((x) => Number(x) === 0),
                what,
              ).toBe(true);
              return;
            }
            expect(result.shape, what).toEqual(expected.shape);
            expectClose(
              result.dataSync(),
              expected.tensor.map(Number),
              what,
              tolerances[precision],
            );
          });
        });
      }
      expect(allocated()).toBe(before);
    });

    it('is one program, to the bit', () => {
      for (const record of own) {
        tidy(() => {
          const f = toStatic((...inputs: ReturnType<typeof inputsOf>) => run(record, ...inputs), {
            fullGraph: true,
          });
          const bits = (found: (Tensor | null)[]) => found.map((x) => x && [x.dtype, x.tolist()]);
          const eager = bits(run(record, ...inputsOf(record, 'float32')));
          expect(bits(f(...inputsOf(record, 'float32')))).toEqual(eager);
          expect(f.stats().breaks).toEqual([]);
        });
      }
    });
  });
});
