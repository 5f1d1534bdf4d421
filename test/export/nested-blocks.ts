/** Branches and loops that depend on data, nested at random. */

import fc from 'fast-check';
import type { nn, Tensor } from '../../src/index.ts';

export type Block =
  | { readonly kind: 'linear' | 'sine' | 'outer' }
  | { readonly kind: 'both'; readonly first: Block; readonly second: Block }
  | {
      readonly kind: 'branch';
      readonly limit: number;
      readonly onTrue: Block;
      readonly onFalse: Block;
    }
  | { readonly kind: 'loop'; readonly enough: number; readonly body: Block };

const simple = fc.constantFrom<Block>({ kind: 'linear' }, { kind: 'sine' }, { kind: 'outer' });

const { block } = fc.letrec<{ block: Block }>((tie) => ({
  block: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'block' },
    simple,
    fc.record({
      kind: fc.constant('branch' as const),
      limit: fc.double({ min: 0.3, max: 1.2, noNaN: true }),
      onTrue: tie('block'),
      onFalse: tie('block'),
    }),
    fc.record({
      kind: fc.constant('loop' as const),
      enough: fc.double({ min: 5, max: 60, noNaN: true }),
      body: tie('block'),
    }),
    fc.record({
      kind: fc.constant('both' as const),
      first: tie('block'),
      second: tie('block'),
    }),
  ),
}));

const depthOf = (given: Block): number => {
  switch (given.kind) {
    case 'both':
      return Math.max(depthOf(given.first), depthOf(given.second));
    case 'branch':
      return 1 + Math.max(depthOf(given.onTrue), depthOf(given.onFalse));
    case 'loop':
      return 1 + depthOf(given.body);
    default:
      return 0;
  }
};

/** Blocks with a branch or loop inside of another. */
export const nestedBlocks: fc.Arbitrary<Block> = block.filter((each) => depthOf(each) > 1);

/** What the block makes of `x`; `start`: from before all branches and loops. Loops of every block end after 20 iterations. */
export function runBlock(given: Block, net: nn.Linear, start: Tensor, x: Tensor): Tensor {
  switch (given.kind) {
    case 'linear':
      return net.forward(x).sigmoid().add(x.mul(0.5));
    case 'sine':
      return x.sin().add(1.1).mul(net.bias!.sigmoid());
    case 'outer':
      return start.mul(x.sigmoid());
    case 'both':
      return runBlock(given.second, net, start, runBlock(given.first, net, start, x));
    case 'branch':
      if (x.abs().mean().itemSync() > given.limit) return runBlock(given.onTrue, net, start, x);
      return runBlock(given.onFalse, net, start, x);
    case 'loop': {
      let y = x;
      while (y.square().sum().itemSync() < given.enough) {
        y = y
          .abs()
          .mul(1.4)
          .add(runBlock(given.body, net, start, y.mul(0.5)).sigmoid());
      }
      return y;
    }
  }
}
