import type { Operator } from './node/node.ts';
import { elementwiseOperators } from './ops/elementwise.ts';
import { indexingOperators } from './ops/indexing.ts';
import { normalizationOperators } from './ops/normalization.ts';
import { productOperators } from './ops/products.ts';
import { recurrentOperators } from './ops/recurrent.ts';
import { reductionOperators } from './ops/reductions.ts';
import { resize } from './ops/resize.ts';
import { shapeOperators } from './ops/shapes.ts';

/** The supported ONNX operators by name; the graph implements `If`, `Loop` and `Constant`. */
export const operators: Readonly<Record<string, Operator>> = {
  ...elementwiseOperators,
  ...indexingOperators,
  ...normalizationOperators,
  ...productOperators,
  ...recurrentOperators,
  ...reductionOperators,
  ...shapeOperators,
  Resize: resize,
};
