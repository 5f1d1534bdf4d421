/** Operators of PyTorch that create, move, join and choose elements. */

import * as ours from '../../runtime/index.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { type Adapters, type Arguments, adapter, type Result } from './arguments.ts';
import { dtypeOf } from './dtypes.ts';

const like = (name: string, fn: typeof ours.zerosLike) =>
  adapter(`${name}(x, { dtype })`, 'input', (given) => {
    const x = given.tensor('input');
    return fn(x, { dtype: dtypeOf(given, x.dtype) });
  });

const joining = (name: string, fn: (tensors: readonly Tensor[]) => Tensor) =>
  adapter(`${name}(tensors)`, 'tensors', (given) => fn(given.tensors('tensors')));

const numbers = (given: Arguments, name: string) => given.listOr(name, []);

const sizes = (name: string, fn: (x: Tensor, sizes: readonly number[]) => Result) =>
  adapter(`${name}(x, sizes)`, 'input sizes', (given) =>
    fn(given.tensor('input'), numbers(given, 'sizes')),
  );

const plain = (name: string, fn: (x: Tensor) => Result) =>
  adapter(`${name}(x)`, 'input', (given) => fn(given.tensor('input')));

const diagonalOf = (given: Arguments): [number, number, number] => [
  given.number('offset', 0),
  given.number('dim1', 0),
  given.number('dim2', 1),
];

export const arrangingAdapters: Adapters = {
  arange: adapter('arange(start, end, step, { dtype })', 'start end step', (given) =>
    ours.arange(given.number('start'), given.numberOr('end', null), given.number('step', 1), {
      dtype: dtypeOf(given, 'float32'),
    }),
  ),
  eye: adapter('eye(n, m, { dtype })', 'n m', (given) =>
    ours.eye(given.number('n'), given.numberOr('m', undefined), {
      dtype: dtypeOf(given, 'float32'),
    }),
  ),
  linspace: adapter('linspace(start, end, steps, { dtype })', 'start end steps', (given) =>
    ours.linspace(given.number('start'), given.number('end'), given.number('steps'), {
      dtype: dtypeOf(given, 'float32'),
    }),
  ),
  full_like: adapter('fullLike(x, value, { dtype })', 'input fill_value', (given) => {
    const x = given.tensor('input');
    return ours.fullLike(x, given.number('fill_value'), { dtype: dtypeOf(given, x.dtype) });
  }),
  zeros_like: like('zerosLike', ours.zerosLike),
  ones_like: like('onesLike', ours.onesLike),

  broadcast_to: sizes('broadcastTo', ours.broadcastTo),
  expand: sizes('expand', ours.expand),
  expand_as: adapter('x.expandAs(other)', 'input other', (given) =>
    given.tensor('input').expandAs(given.tensor('other')),
  ),
  view: sizes('reshape', ours.reshape),
  reshape: sizes('reshape', ours.reshape),
  reshape_as: adapter('reshape(x, other.shape)', 'input other', (given) =>
    ours.reshape(given.tensor('input'), given.tensor('other').shape),
  ),
  permute: sizes('permute', ours.permute),
  repeat: sizes('repeat', ours.repeat),
  tile: sizes('tile', ours.tile),
  ravel: plain('flatten', (x) => ours.flatten(x)),
  t: plain('t', ours.t),
  fliplr: plain('fliplr', ours.fliplr),
  flipud: plain('flipud', ours.flipud),
  trace: plain('trace', ours.trace),
  contiguous: plain('contiguous', ours.contiguous),
  clone: adapter('x.clone()', 'input', (given) => given.tensor('input').clone()),
  flatten: adapter('flatten(x, startDim, endDim)', 'input start_dim end_dim', (given) =>
    ours.flatten(given.tensor('input'), given.number('start_dim', 0), given.number('end_dim', -1)),
  ),
  unflatten: adapter('unflatten(x, dim, sizes)', 'input dim sizes', (given) =>
    ours.unflatten(given.tensor('input'), given.number('dim'), given.list('sizes')),
  ),
  squeeze: adapter('squeeze(x, dim)', 'input dim', (given) =>
    ours.squeeze(given.tensor('input'), given.has('dim') ? given.list('dim') : undefined),
  ),
  unsqueeze: adapter('unsqueeze(x, dim)', 'input dim', (given) =>
    ours.unsqueeze(given.tensor('input'), given.number('dim')),
  ),
  transpose: adapter('transpose(x, dim0, dim1)', 'input dim0 dim1', (given) =>
    ours.transpose(given.tensor('input'), given.number('dim0'), given.number('dim1')),
  ),
  movedim: adapter('movedim(x, source, destination)', 'input source destination', (given) =>
    ours.movedim(given.tensor('input'), given.list('source'), given.list('destination')),
  ),
  flip: adapter('flip(x, dims)', 'input dims', (given) =>
    ours.flip(given.tensor('input'), numbers(given, 'dims')),
  ),
  roll: adapter('roll(x, shifts, dims)', 'input shifts dims', (given) =>
    ours.roll(
      given.tensor('input'),
      given.list('shifts'),
      given.has('dims') ? given.list('dims') : undefined,
    ),
  ),
  rot90: adapter('rot90(x, k, dims)', 'input k dims', (given) =>
    ours.rot90(
      given.tensor('input'),
      given.number('k', 1),
      given.listOr('dims', [0, 1]) as [number, number],
    ),
  ),
  repeat_interleave: adapter(
    'repeatInterleave(x, repeats, dim)',
    'input repeats dim output_size',
    (given) =>
      ours.repeatInterleave(
        given.tensor('input'),
        given.operand('repeats'),
        given.numberOr('dim', undefined),
      ),
  ),
  diag: adapter('diag(x, offset)', 'input diagonal', (given) =>
    ours.diag(given.tensor('input'), given.number('diagonal', 0)),
  ),
  diag_embed: adapter('diagEmbed(x, offset, dim1, dim2)', 'input offset dim1 dim2', (given) =>
    ours.diagEmbed(
      given.tensor('input'),
      given.number('offset', 0),
      given.number('dim1', -2),
      given.number('dim2', -1),
    ),
  ),
  diagonal: adapter('diagonal(x, offset, dim1, dim2)', 'input offset dim1 dim2', (given) =>
    ours.diagonal(given.tensor('input'), ...diagonalOf(given)),
  ),
  diagonal_scatter: adapter(
    'diagonalScatter(x, source, offset, dim1, dim2)',
    'input src offset dim1 dim2',
    (given) =>
      ours.diagonalScatter(given.tensor('input'), given.tensor('src'), ...diagonalOf(given)),
  ),
  tril: adapter('tril(x, offset)', 'input diagonal', (given) =>
    ours.tril(given.tensor('input'), given.number('diagonal', 0)),
  ),
  triu: adapter('triu(x, offset)', 'input diagonal', (given) =>
    ours.triu(given.tensor('input'), given.number('diagonal', 0)),
  ),
  unfold: adapter('unfold(x, dim, size, step)', 'input dimension size step', (given) =>
    ours.unfold(
      given.tensor('input'),
      given.number('dimension'),
      given.number('size'),
      given.number('step'),
    ),
  ),

  cat: adapter('cat(tensors, dim)', 'tensors dim', (given) =>
    ours.cat(given.tensors('tensors'), given.number('dim', 0)),
  ),
  stack: adapter('stack(tensors, dim)', 'tensors dim', (given) =>
    ours.stack(given.tensors('tensors'), given.number('dim', 0)),
  ),
  column_stack: joining('columnStack', ours.columnStack),
  dstack: joining('dstack', ours.dstack),
  hstack: joining('hstack', ours.hstack),
  vstack: joining('vstack', ours.vstack),
  meshgrid: adapter('meshgrid(tensors, indexing)', 'tensors', (given) =>
    ours.meshgrid(
      [...given.tensors('tensors'), ...extra(given)],
      given.text<'ij' | 'xy'>('indexing', 'ij'),
    ),
  ),

  chunk: adapter('chunk(x, chunks, dim)', 'input chunks dim', (given) =>
    ours.chunk(given.tensor('input'), given.number('chunks'), given.number('dim', 0)),
  ),
  split: adapter('split(x, sizes, dim)', 'input split_size_or_sections dim', (given) => {
    const size = given.get('split_size_or_sections');
    const pieces = Array.isArray(size) ? size.map(Number) : Number(size);
    return ours.split(given.tensor('input'), pieces, given.number('dim', 0));
  }),
  tensor_split: adapter('tensorSplit(x, pieces, dim)', 'input indices_or_sections dim', (given) => {
    const pieces = given.get('indices_or_sections') as number | number[] | Tensor;
    return ours.tensorSplit(given.tensor('input'), pieces, given.number('dim', 0));
  }),
  unbind: adapter('unbind(x, dim)', 'input dim', (given) =>
    ours.unbind(given.tensor('input'), given.number('dim', 0)),
  ),
  narrow: adapter('narrow(x, dim, start, length)', 'input dim start length', (given) =>
    ours.narrow(
      given.tensor('input'),
      given.number('dim'),
      Number(startOf(given.get('start'))),
      given.number('length'),
    ),
  ),
  select: adapter('select(x, dim, index)', 'input dim index', (given) =>
    ours.select(given.tensor('input'), given.number('dim'), given.number('index')),
  ),
  select_scatter: adapter('selectScatter(x, source, dim, index)', 'input src dim index', (given) =>
    ours.selectScatter(
      given.tensor('input'),
      given.tensor('src'),
      given.number('dim'),
      given.number('index'),
    ),
  ),
  slice: adapter('x.slice(dim, start, end, step)', 'input dim start end step', (given) =>
    given
      .tensor('input')
      .slice(
        given.number('dim', 0),
        given.numberOr('start', null),
        given.numberOr('end', null),
        given.number('step', 1),
      ),
  ),
  slice_scatter: adapter(
    'sliceScatter(x, source, dim, start, end, step)',
    'input src dim start end step',
    (given) =>
      ours.sliceScatter(
        given.tensor('input'),
        given.tensor('src'),
        given.number('dim', 0),
        given.numberOr('start', null),
        given.numberOr('end', null),
        given.number('step', 1),
      ),
  ),
};

const startOf = (start: unknown) => (start instanceof Tensor ? start.itemSync() : start);

/** Tensors by position behind the first. */
function extra(given: Arguments): Tensor[] {
  const found: Tensor[] = [];
  for (let i = 1; given.has(`argument ${i}`); i++) found.push(given.tensor(`argument ${i}`));
  return found;
}
