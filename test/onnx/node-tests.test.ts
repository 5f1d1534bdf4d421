/** Every operator that is imported passes ONNX's own node tests, or rejects their setting by name. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArgumentError, noGrad, type Tensor, tensor } from '../../runtime/index.ts';
import { operators } from '../../runtime/onnx/operators.ts';
import { hostOf, type Value } from '../../runtime/onnx/values/host.ts';
import type { DType } from '../../runtime/spec/dtype.ts';
import { storedNumbers } from '../../runtime/spec/stored-numbers.ts';
import { openWeights } from '../../runtime/weights/index.ts';
import { importOnnx, type ModelInput } from '../../src/onnx/index.ts';
import { onnxPython, withInterop } from '../export/python.ts';

interface NodeTest {
  readonly name: string;
  readonly operators: readonly string[];
  readonly types: Readonly<Record<string, string>>;
  readonly shapes: Readonly<Record<string, readonly number[]>>;
}

/** Settings that are rejected, by the tests that have them. */
const rejected = [
  /^test_(averagepool|maxpool|convtranspose|conv)_3d/,
  /^test_batchnorm_.*training_mode/,
  /^test_convtranspose_(output_shape|kernel_shape|autopad_same)/,
  /^test_gathernd_example_int32_batch_dim1/,
  /^test_lstm_with_peepholes/,
  /^test_maxpool_(2d_uint8|with_argmax)/,
  /^test_resize_.*(antialias|not_larger|not_smaller)/,
  /^test_resize_tf_crop_and_resize/,
  /^test_scatternd_(multiply|max|min)/,
  /^test_training_dropout/,
];

/** ONNX's reference takes the scaled size before it is rounded for the last place; onnxruntime and the text don't. */
const unrounded = [/^test_resize_downsample_scales_(linear|cubic)_align_corners/];

/** What operators have since opset 23. */
const later = [/^test_spacetodepth_crd/];

const hostTypes = ['int64', 'uint64', 'uint32'];
const smallTypes = ['int8', 'int16', 'uint16'];

const python = withInterop("ONNX's node tests", onnxPython);
const folder = mkdtempSync(join(tmpdir(), 'tostatic-node-tests-'));
afterAll(() => rmSync(folder, { recursive: true }));

let tests: readonly NodeTest[] = [];
const failures = new Map<string, unknown>();

beforeAll(async () => {
  if (!python) return;
  const script = join(import.meta.dirname, 'node-tests.py');
  const names = ['If', 'Loop', ...Object.keys(operators)];
  execFileSync(python, [script, folder, ...names], { stdio: 'pipe' });
  tests = JSON.parse(readFileSync(join(folder, 'tests.json'), 'utf8')) as NodeTest[];
  for (const test of tests) {
    try {
      await run(test);
    } catch (error) {
      failures.set(test.name, error);
    }
  }
}, 300_000);

async function run({ name, types, shapes }: NodeTest): Promise<void> {
  await using arrays = await openWeights(join(folder, `${name}.npz`));
  const numbers = async (key: string) =>
    Array.from((await (await arrays.tensor(key)).data()) as Float64Array);
  const model = await importOnnx(readFileSync(join(folder, `${name}.onnx`)));
  const inputs: Value[] = [];
  for (let i = 0; types[`i${i}`]; i++) {
    const type = types[`i${i}`]!;
    const [values, shape] = [await numbers(`i${i}`), shapes[`i${i}`]!];
    if (hostTypes.includes(type)) inputs.push(hostOf(values, shape));
    else {
      const dtype = (smallTypes.includes(type) ? 'int32' : type) as DType;
      inputs.push(tensor(storedNumbers(values, dtype, 'test'), { shape, dtype }));
    }
  }
  const result = noGrad(() => model.forward(...(inputs as unknown as ModelInput[])));
  const outputs: readonly Tensor[] = Array.isArray(result) ? result : [result];
  for (let i = 0; types[`o${i}`]; i++) {
    expect(outputs[i]!.shape).toEqual(shapes[`o${i}`]);
    const ours = Array.from(outputs[i]!.dataSync() as ArrayLike<number>, Number);
    const theirs = await numbers(`o${i}`);
    for (const [k, value] of theirs.entries()) {
      const isSame = Object.is(value, ours[k]) || value === ours[k];
      if (!isSame && !(Math.abs(value - ours[k]!) <= 1e-4 * (1 + Math.abs(value)))) {
        throw new Error(`output ${i}[${k}] is ${ours[k]}, not ${value}`);
      }
    }
  }
}

const isOneOf = (name: string, patterns: readonly RegExp[]) =>
  patterns.some((pattern) => pattern.test(name));

describe.runIf(python)("ONNX's node tests", () => {
  it.each(Object.keys(operators))('%s', (operator) => {
    const own = tests.filter(({ operators: names }) => names.includes(operator));
    expect(own.length).toBeGreaterThan(0);
    for (const { name } of own.filter((test) => !isOneOf(test.name, [...later, ...unrounded]))) {
      const failure = failures.get(name);
      if (isOneOf(name, rejected)) expect(failure).toBeInstanceOf(ArgumentError);
      else if (failure) throw new Error(name, { cause: failure });
    }
  });

  it('there are hundreds of them', () => {
    expect(tests.length - failures.size).toBeGreaterThan(1000);
  });
});
