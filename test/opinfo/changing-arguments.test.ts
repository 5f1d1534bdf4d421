/** Every number among the arguments of every operator, changing from call to call: no call ends in eager execution. */

import { describe, expect, it } from 'vitest';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { toStatic } from '../../src/index.ts';
import { adapters } from './adapters.ts';
import { type Adapter, callAdapter } from './arguments.ts';
import { opinfo } from './operators-doc.ts';
import { isRecordedTensor, readSamples, type Sample, toTensor } from './samples.ts';

/** More than are compiled before a point counts as changing with every call. */
const count = 10;

/** Arguments of which each value makes a plan though all results have one shape, and why. */
const planned: Readonly<Record<string, string>> = {
  'gradient edge_order': 'other ops for 1 than for more',
  'nn.functional.conv1d dilation[0]': 'a kernel of one entry has no dilation',
  'nn.functional.conv_transpose2d dilation[0]': 'a kernel of one entry has no dilation',
  'nn.functional.max_pool1d stride': 'all strides leave one window',
  'repeat sizes[0]': 'a tensor without elements stays empty',
  'rot90 dims[0]': 'which dimension it is',
  'rot90 k': 'other ops for each quarter turn',
  'stack dim': 'which dimension it is',
  'unfold step': 'all steps leave one window',
};

/** Arguments of which each value is a trace of its own, and why. */
const traced: Readonly<Record<string, string>> = {
  'tensor_split indices_or_sections': 'how many results there are',
};

type Call = readonly [args: readonly unknown[], keywords: Readonly<Record<string, unknown>>];

/** One number among the arguments of a sample. */
interface Place {
  readonly name: string;
  readonly value: number;
  with(value: number): Call;
}

const replaced = (list: readonly unknown[], at: number, by: unknown): unknown[] =>
  list.map((own, i) => (i === at ? by : own));

function placesOf({ args, kwargs }: Sample, { parameters }: Adapter): Place[] {
  const within = (name: string, given: unknown, put: (value: unknown) => Call): Place[] => {
    if (typeof given === 'number') return [{ name, value: given, with: put }];
    if (!Array.isArray(given)) return [];
    // The others of a list are taken in the same way.
    const [first]: unknown[] = given;
    if (typeof first !== 'number') return [];
    return [{ name: `${name}[0]`, value: first, with: (own) => put(replaced(given, 0, own)) }];
  };
  return [
    ...args.flatMap((given, i) =>
      within(parameters[i + 1] ?? `${i}`, given, (value) => [replaced(args, i, value), kwargs]),
    ),
    ...Object.entries(kwargs).flatMap(([key, given]) =>
      within(key, given, (value) => [args, { ...kwargs, [key]: value }]),
    ),
  ];
}

function built(value: unknown): unknown {
  if (isRecordedTensor(value)) return toTensor(value, 'float32');
  if (Array.isArray(value)) return value.map(built);
  if (value === 'Infinity' || value === '-Infinity' || value === 'NaN') return Number(value);
  return value;
}

/** Numbers near the recorded one: whole where it is whole, in the order of their distance. */
function near(value: number): number[] {
  const steps = Array.from({ length: 14 }, (_, i) => i + 1);
  if (!Number.isInteger(value)) return [value, ...steps.map((i) => value * (1 + i * 0.03))];
  const whole = [...steps.map((i) => value + i), ...steps.map((i) => value - i)];
  return [value, ...whole, ...steps.map((i) => value + i / 16)];
}

const shapesOf = (result: Tensor | readonly Tensor[]): string =>
  [result]
    .flat()
    .map((own) => (own instanceof Tensor ? own.shape : []).join())
    .join(' ');

function changing(op: string): Map<string, () => void> {
  const adapter = adapters[op]!;
  const tests = new Map<string, () => void>();
  for (const sample of samples.filter((own) => own.op === op)) {
    for (const place of placesOf(sample, adapter)) {
      if (tests.has(place.name)) continue;
      const call = (value: number): Parameters<typeof callAdapter> => {
        const [args, keywords] = place.with(value);
        return [adapter, [input, ...args.map(built)], keywords];
      };
      const input = built(sample.input);
      const accepted: number[] = [];
      const shapes = new Set<string>();
      for (const value of near(place.value)) {
        if (accepted.length === count) break;
        try {
          shapes.add(tidy(() => shapesOf(callAdapter(...call(value)))));
          accepted.push(value);
        } catch {
          // Not a value that the operator takes.
        }
      }
      if (accepted.length < count) continue;
      tests.set(place.name, () => {
        const name = `${op} ${place.name}`;
        const captured = toStatic((...given: Parameters<typeof callAdapter>) =>
          callAdapter(...given),
        );
        for (const value of accepted) captured(...call(value));
        const { translations, plans, fallbacks, breaks } = captured.stats();
        if (traced[name]) return;
        expect({ fallbacks, breaks }, name).toEqual({ fallbacks: [], breaks: [] });
        expect(translations, `${name}: traces`).toBeLessThanOrEqual(4);
        if (shapes.size === 1 && !planned[name]) {
          expect(plans, `${name}: plans`).toBeLessThanOrEqual(4);
        }
      });
    }
  }
  return tests;
}

const samples = readSamples(opinfo);
const ops = [...new Set(samples.map(({ op }) => op))].filter((op) => adapters[op]);

describe('a number among the arguments that changes with every call', () => {
  it('is no trace of its own, and no plan where it decides no shape', { timeout: 240_000 }, () => {
    let places = 0;
    const failures: string[] = [];
    for (const op of ops) {
      for (const run of changing(op).values()) {
        places++;
        try {
          run();
        } catch (error) {
          failures.push((error as Error).message.split('\n')[0]!);
        }
      }
    }
    expect(failures).toEqual([]);
    expect(places).toBeGreaterThan(120);
  });
});
