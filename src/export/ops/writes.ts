import { ArgumentError } from '../../../runtime/errors/errors.ts';
import { fixedList } from '../target/attributes.ts';
import type { TargetCall } from '../target/op-mapping.ts';
import type { TargetValue } from '../target/target.ts';
import { viewPlaces } from './view-positions.ts';

/** Returns the operand of a view after a write to the view's result. */
export function writtenThrough<V extends TargetValue>(
  view: TargetCall<V>,
  operand: V,
  written: V,
): V {
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
      const places = viewPlaces(view);
      if (places) return to.withElementsAt(operand, places.places, written);
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
