import { opTable } from '../ops/op-table.ts';
import type { Value } from './emit/emitter.ts';
import type { OpCall } from './emit/op-mapping.ts';
import { alongDimOps } from './ops/along-dim.ts';
import { indexOps } from './ops/gathering.ts';
import { poolOps } from './ops/pooling.ts';
import { matrixOps } from './ops/products.ts';
import { drawOps } from './ops/random.ts';

export const { isMapped, emitOp } = opTable<Value, OpCall>({
  ...alongDimOps,
  ...indexOps,
  ...poolOps,
  ...matrixOps,
  ...drawOps,
});
