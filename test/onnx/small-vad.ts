/** A network built like Silero VAD: one for each rate behind an `If`, each with branches on shapes and an LSTM. */

import type { OnnxNode } from '../../runtime/onnx/format/proto.ts';
import { constant, graph, modelFile, node, numbers } from './model-file.ts';

const [hidden, bands, window] = [128, 5, 64];

const filled = (dims: readonly number[], at: (place: readonly number[]) => number) => {
  const count = dims.reduce((product, size) => product * size, 1);
  const values = Array.from({ length: count }, (_, i) => {
    let rest = i;
    return at(
      dims.map((_size, d) => {
        const inner = dims.slice(d + 1).reduce((product, size) => product * size, 1);
        const own = Math.floor(rest / inner);
        rest -= own * inner;
        return own;
      }),
    );
  });
  return numbers('float', values, dims);
};

/** Cosines of a few frequencies, then their sines. */
const basis = filled([2 * bands, 1, window], ([row, , t]) => {
  const angle = (2 * Math.PI * (4 + (row! % bands)) * t!) / window;
  return row! < bands ? Math.cos(angle) : Math.sin(angle);
});

/** The first feature is loudness; the others are 0. */
const encoder = filled([hidden, bands, 3], ([out, , k]) => (out === 0 && k === 1 ? 1 : 0));

const ints = (...values: number[]) => numbers('int64', values);

/** A part for one choice on a shape: `output` is the operator of `then`, or the operand itself. */
const choice = (condition: string, then: string, operand: string, axis: string, output: string) =>
  node('If', condition, output, {
    then_branch: {
      graph: graph({}, [`${output}.then`], [node(then, `${operand} ${axis}`, `${output}.then`)]),
    },
    else_branch: {
      graph: graph({}, [`${output}.else`], [node('Identity', operand, `${output}.else`)]),
    },
  });

function network(threshold: number): ReturnType<typeof graph> {
  const recurrent = filled([1, 4 * hidden, hidden], () => 0);
  // Gates: input, output, forget, cell.
  const fromInput = filled([1, 4 * hidden, hidden], ([, row, column]) =>
    row === 3 * hidden && column === 0 ? 1 : 0,
  );
  const bias = filled([1, 8 * hidden], ([, i]) => (i! < 2 * hidden ? 5 : i! < 3 * hidden ? -1 : 0));
  const decoder = filled([1, hidden, 1], ([, channel]) => (channel === 0 ? 20 : 0));
  const nodes: OnnxNode[] = [
    constant('last', ints(2)),
    constant('basis', basis),
    constant('encoder', encoder),
    constant('W', fromInput),
    constant('R', recurrent),
    constant('B', bias),
    constant('decoder', decoder),
    constant('decoder.bias', numbers('float', [-threshold])),
    constant('padding', ints(0, 0, 0, window)),
    node('Pad', 'input padding', 'padded', { mode: 'reflect' }),
    constant('one', ints(1)),
    node('Unsqueeze', 'padded one', 'wave'),
    node('Conv', 'wave basis', 'spectrum', { kernel_shape: [window], strides: [32] }),
    constant('zero', ints(0)),
    constant('bands', ints(bands)),
    constant('both', ints(2 * bands)),
    node('Slice', 'spectrum zero bands one', 'real'),
    node('Slice', 'spectrum bands both one', 'imaginary'),
    constant('two', numbers('float', [2], [])),
    node('Pow', 'real two', 'real.square'),
    node('Pow', 'imaginary two', 'imaginary.square'),
    node('Add', 'real.square imaginary.square', 'power'),
    node('Sqrt', 'power', 'magnitude'),
    node('Conv', 'magnitude encoder', 'encoded', { kernel_shape: [3], pads: [1, 1] }),
    node('Relu', 'encoded', 'features'),
    node('ReduceMean', 'features', 'mean', { axes: [2], keepdims: 1 }),
    // What the model's exporter made of `squeeze`.
    node('Shape', 'mean', 'mean.shape'),
    node('Gather', 'mean.shape last', 'mean.last'),
    node('Equal', 'mean.last one', 'mean.is-one'),
    choice('mean.is-one', 'Squeeze', 'mean', 'last', 'squeezed'),
    node('Shape', 'squeezed', 'squeezed.shape'),
    node('Size', 'squeezed.shape', 'squeezed.rank'),
    constant('three', numbers('int64', [3], [])),
    node('Equal', 'squeezed.rank three', 'is-batched'),
    node('Not', 'is-batched', 'is-single'),
    node('Cast', 'is-single', 'is-single.bool', { to: 9 }),
    choice('is-single.bool', 'Unsqueeze', 'squeezed', 'zero', 'sequence'),
    constant('first', numbers('int64', [0], [])),
    constant('second', numbers('int64', [1], [])),
    node('Gather', 'state first', 'h'),
    node('Gather', 'state second', 'c'),
    node('Unsqueeze', 'h zero', 'h.first'),
    node('Unsqueeze', 'c zero', 'c.first'),
    node('LSTM', 'sequence W R B - h.first c.first', 'Y h.next c.next', { hidden_size: hidden }),
    node('Concat', 'h.next c.next', 'state.next', { axis: 0 }),
    node('Squeeze', 'h.next zero', 'h.last'),
    constant('minus-one', ints(-1)),
    node('Unsqueeze', 'h.last minus-one', 'h.column'),
    node('Relu', 'h.column', 'active'),
    node('Conv', 'active decoder decoder.bias', 'logit', { kernel_shape: [1] }),
    node('Sigmoid', 'logit', 'chances'),
    node('ReduceMean', 'chances', 'chance', { axes: [2], keepdims: 0 }),
  ];
  return graph({}, ['chance', 'state.next'], nodes);
}

/** From `input` [batch, samples], `state` [2, batch, 128] and `sr` to `output` [batch, 1] and `stateN`. */
export function smallVad(): Uint8Array {
  const inputs = {
    input: ['float', ['batch', 'samples']],
    state: ['float', [2, 'batch', hidden]],
    sr: ['int64', []],
  } as const;
  const branches = { then_branch: { graph: network(5) }, else_branch: { graph: network(6) } };
  const nodes = [
    constant('rate', numbers('int64', [16000], [])),
    node('Equal', 'sr rate', 'is-fast'),
    node('If', 'is-fast', 'output stateN', branches),
  ];
  return modelFile(graph(inputs, ['output', 'stateN'], nodes));
}
