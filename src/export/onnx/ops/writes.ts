import { ArgumentError } from '../../../../runtime/errors/errors.ts';
import type { Value } from '../emit/emitter.ts';
import { fixedList, type OpCall } from '../emit/op-mapping.ts';
import { writtenFlat } from './gathering.ts';
import { viewPlaces } from './movement.ts';

/** Returns the operand of a view after a write to the view's result. */
export function writtenThrough(view: OpCall, operand: Value, written: Value): Value {
  const { to, op } = view;
  switch (op.name) {
    case 'alias':
    case 'reshape':
    case 'reshapeLike':
      return to.reshape(written, operand.shape);
    case 'permute': {
      const dims = fixedList(view, 'dims');
      return to.transpose(
        written,
        dims.map((_, d) => dims.indexOf(d)),
      );
    }
    case 'narrow':
    case 'slice':
    case 'diagonal':
    case 'asStrided': {
      const own = viewPlaces(view);
      if (own) return writtenFlat(to, operand, written, own.places);
    }
  }
  throw new ArgumentError({
    what: `export: a write in place through ${op.name}`,
    given: `a view made by ${op.name}`,
    expected:
      'writes to whole tensors, and to parts of fixed size made by reshape, permute, narrow, slice or diagonal',
    remedy: 'write to a copy, or compute a new tensor',
  });
}
