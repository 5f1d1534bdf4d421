import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { Conv2d, type Conv2dLayerOptions, Linear } from '../../runtime/nn/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { expectRecorded, type RecordedTensor, readRecords, toTensor } from '../ops/recorded.ts';

interface ModuleRecord {
  /** `Linear`, or `Conv2d` and its keyword arguments. */
  readonly name: string;
  readonly state: Readonly<Record<string, RecordedTensor>>;
  readonly inputs: readonly RecordedTensor[];
  readonly outputs: readonly RecordedTensor[];
  readonly gradOutputs: readonly RecordedTensor[];
  readonly inputGrads: readonly RecordedTensor[];
  readonly paramGrads: Readonly<Record<string, RecordedTensor>>;
}

const tolerance = { relative: 2e-5, absolute: 1e-5 };

function moduleOf({ name, state }: ModuleRecord): Linear | Conv2d {
  const { shape } = state.weight!;
  if (name === 'Linear') return new Linear(shape[1]!, shape[0]!);
  const options = JSON.parse(name.slice('Conv2d '.length)) as Conv2dLayerOptions;
  const channels = shape[1]! * (options.groups ?? 1);
  return new Conv2d(channels, shape[0]!, [shape[2]!, shape[3]!], options);
}

describe("layers give PyTorch's recorded outputs and gradients", () => {
  for (const record of readRecords<ModuleRecord>(
    new URL('data/pytorch-modules.jsonl', import.meta.url),
  )) {
    it(record.name, () => {
      using module = moduleOf(record);
      tidy(() => {
        const parameters = Object.fromEntries(module.namedParameters());
        expect(Object.keys(parameters)).toEqual(Object.keys(record.state));
        for (const [name, value] of Object.entries(record.state)) {
          noGrad(() => parameters[name]!.copy_(toTensor(value)));
        }
        const input = toTensor({ ...record.inputs[0]!, grad: true });
        const output = module.forward(input);
        expectRecorded(output, record.outputs[0]!, 'output', tolerance);
        output.backward(toTensor(record.gradOutputs[0]!));
        expectRecorded(input.grad!, record.inputGrads[0]!, "input's gradient", tolerance);
        input.grad!.dispose();
        for (const [name, expected] of Object.entries(record.paramGrads)) {
          expectRecorded(parameters[name]!.grad!, expected, `gradient of ${name}`, tolerance);
        }
      });
    });
  }
});
