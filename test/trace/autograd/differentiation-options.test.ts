/** Options of `backward()` and `grad()` in captured code: rejected as eagerly, and in the graph where they are right. */

import { describe, expect, it } from 'vitest';
import { backward, grad, ones, type Tensor, toStatic } from '../../../src/index.ts';

const weight = ones([2]).requiresGrad_();
const other = ones([2]).requiresGrad_();

/** From plain JavaScript. */
type Loose = (...args: unknown[]) => unknown;

const calls: Readonly<Record<string, (loss: Tensor, options: unknown) => unknown>> = {
  'loss.backward()': (loss, options) => {
    (loss.backward as Loose).call(loss, null, options);
    return weight.grad;
  },
  'backward()': (loss, options) => {
    (backward as Loose)(loss, null, options);
    return weight.grad;
  },
  'grad()': (loss, options) => (grad as unknown as Loose)(loss, [weight], options),
};

const right: readonly unknown[] = [
  undefined,
  {},
  { retainGraph: true },
  { createGraph: undefined, retainGraph: false },
];
const wrong: readonly unknown[] = [
  { createGraf: true },
  { retain_graph: true },
  { retainGraph: 1 },
  { createGraph: 'yes' },
  null,
  'retainGraph',
];

function outcomeOf(run: (x: Tensor) => unknown): unknown {
  weight.grad = null;
  other.grad = null;
  try {
    const result = run(ones([2]));
    return [result].flat().map((each) => (each as Tensor).toArraySync());
  } catch (error) {
    const { name, message } = error as Error;
    return [name, message.replace(/^ {2}at: .*\n/m, '').replace(/\n +\d+ \| .*/g, '')];
  }
}

describe.each(Object.entries(calls))('%s', (_name, call) => {
  const step = (options: unknown) => (x: Tensor) => call(weight.mul(x).mul(other).sum(), options);

  it.each(right.map((options) => [options]))('%j is in the graph', (options) => {
    const captured = toStatic(step(options), { fullGraph: true });
    for (let i = 0; i < 3; i++) expect(outcomeOf(captured)).toEqual(outcomeOf(step(options)));
    expect(captured.stats()).toMatchObject({ graphs: 1, fallbacks: [] });
  });

  it.each(wrong.map((options) => [options]))('%j is rejected as eagerly', (options) => {
    const eager = outcomeOf(step(options));
    expect(eager).toEqual(['ArgumentError', expect.any(String)]);
    for (const mode of [{}, { fullGraph: true }]) {
      const captured = toStatic(step(options), mode);
      for (let i = 0; i < 2; i++) expect(outcomeOf(captured)).toEqual(eager);
    }
  });
});
