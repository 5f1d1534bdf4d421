/** Describes the values of several paths, for errors. */

import { formatSpec, formatStrides } from '../../../../runtime/device/tensor-meta.ts';
import { elementSpec } from '../../../../runtime/program/list-ops.ts';
import { dtypes } from '../../../../runtime/spec/dtype.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { kindName } from '../../variables/kind-names.ts';
import { absent, hole, type UnbackedTensor, type Variable } from '../../variables/variable.ts';
import { formText } from '../lists/list-tree-spec.ts';
import type { Values } from './build-structure.ts';

/** Returns the possible values of a variable: for a union, its options. */
export function optionsOf(variable: Variable): readonly Variable[] {
  return variable.kind === 'union' ? variable.options : [variable];
}

/** Lists the distinct kinds of values that the paths produce. */
export function describePaths(t: Tracer, paths: Values): string {
  const all = paths.flatMap((path) => (path ? optionsOf(path) : []));
  const arrays = all.every((each) => each.kind === 'newArray' && !each.growable);
  const texts = all.map((each) =>
    arrays && each.kind === 'newArray' ? countOf(each.elements.length) : describe(t, each),
  );
  return [...new Set(texts)].join(' and ');
}

/** Lists the first few kinds of a value that changes its kind in every iteration. */
export function describeSome(t: Tracer, paths: Values): string {
  const all = paths.flatMap((path) => (path ? optionsOf(path) : []));
  const [first, second, third] = new Set(all.map((each) => describe(t, each)));
  return [first, second, third && `${third} and so on`].filter((each) => each).join(', ');
}

function countOf(elements: number): string {
  return elements === 1 ? '1 element' : `${elements} elements`;
}

/** `f32[?,4]` */
function formatDynamic({ tensor, sizes }: UnbackedTensor): string {
  return `${dtypes[tensor.dtype].short}[${sizes.map((size) => size ?? '?').join()}]`;
}

/** Describes the kind of a value for users. */
function describe(t: Tracer, variable: Variable): string {
  switch (variable.kind) {
    case 'tensor': {
      const tensor = t.use(variable);
      const strides = formatStrides(tensor);
      return `a ${formatSpec(tensor)} tensor${strides && ` of ${strides}`}`;
    }
    case 'constant':
      if (variable === hole) return 'a hole';
      return variable === absent ? 'nothing' : String(constantOf(t, variable));
    case 'scalar':
      return `a ${variable.type}`;
    case 'dynamic':
      return `a ${formatDynamic(variable)} tensor`;
    case 'text':
      return 'text with a data-dependent number';
    case 'list': {
      const what =
        variable.of === 'tensor' ? formatSpec(elementSpec(variable.tensor)) : variable.of;
      return `an array of any number of ${what}`;
    }
    case 'newArray':
      return variable.growable
        ? `an array of any number of ${formText(t, variable.growable.form)}`
        : `an array of ${variable.elements.length}`;
    case 'newObject':
      if (variable.prototype) {
        return `an object made by ${variable.prototype.value.constructor.name}`;
      }
      return `{ ${[...variable.entries.keys()].join(', ')} }`;
    case 'uninitialized':
      return 'nothing';
    default:
      return kindName(variable);
  }
}
