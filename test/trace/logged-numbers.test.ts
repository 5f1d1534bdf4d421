/**
 * Text of numbers that change from call to call, as training loops log them: it is made natively between graphs, so
 * that neither translations nor eager ops come with further values.
 */

import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, toStatic } from '../../src/index.ts';

type Log = unknown[] & { best?: number };
type Step = (x: Tensor, k: number, log: Log) => Tensor;

const steps: Readonly<Record<string, Step>> = {
  'toFixed before an op': (x, k, log) => {
    log.push(k.toFixed(3));
    return x.mul(k);
  },
  'toFixed between ops': (x, k, log) => {
    const y = x.mul(k);
    log.push(k.toFixed(3));
    return y.add(1);
  },
  'a template': (x, k, log) => {
    log.push(`k ${k}`);
    return x.mul(k);
  },
  'a template of formatted numbers': (x, k, log) => {
    log.push(`k ${k.toFixed(2)} and ${(k * 100).toFixed(1)} %`);
    return x.mul(k);
  },
  'conversions of all kinds': (x, k, log) => {
    log.push(String(k) + k.toString() + k.toPrecision(3) + k.toExponential(1));
    return x.mul(k);
  },
  'padded text': (x, k, log) => {
    log.push(k.toFixed(1).padStart(8).toUpperCase());
    return x.mul(k);
  },
  'joined numbers': (x, k, log) => {
    log.push([k, k + 1].join(' '));
    return x.mul(k);
  },
  'text that grows in a loop': (x, k, log) => {
    let line = '';
    for (let i = 0; i < 3; i++) line += `${k * i},`;
    log.push(line);
    return x.mul(k);
  },
  'a loss that is read': (x, k, log) => {
    const loss = x.mul(k).sum().itemSync();
    log.push(`loss ${loss.toFixed(4)} ${loss < (log.best ?? Infinity) ? 'best' : ''}`);
    return x.mul(loss);
  },
  'a loss that is read, and nothing after it': (x, k, log) => {
    const y = x.mul(k);
    log.push(`loss ${y.sum().itemSync().toFixed(4)}`);
    return y;
  },
  'losses of a loop': (x, k, log) => {
    let y = x;
    for (let i = 0; i < 4; i++) {
      y = y.mul(k).tanh();
      log.push(`step ${i}: ${y.sum().itemSync().toFixed(3)}`);
    }
    return y;
  },
};

const calls = 40;

function run(step: Step): unknown[] {
  const log: Log = [];
  const results = Array.from({ length: calls }, (_, i) =>
    step(tensor([1, 2, 3]), 1 + 0.013 * i * ((i % 3) - 1), log).dataSync(),
  );
  return [results, log];
}

describe('text of changing numbers', () => {
  it.each(Object.entries(steps))('%s', (_name, step) => {
    const captured = toStatic(step);
    expect(run(captured)).toEqual(run(step));
    const { translations, fallbacks, kernels } = captured.stats();
    expect(fallbacks).toEqual([]);
    expect(kernels.eager).toBe(0);
    expect(translations).toBeLessThanOrEqual(12);
  });
});
