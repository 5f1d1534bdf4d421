/** Classes of mergeable variables: variables of one class differ only in data and contents. */

import { formatSpec, formatStrides } from '../../../../runtime/device/tensor-meta.ts';
import { labelOf } from '../../heap/key-order.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { patternOf } from '../../variables/text-variable.ts';
import type { CellReference, OwnPart, Variable } from '../../variables/variable.ts';
import { formText } from '../lists/list-tree-spec.ts';

/** `isOld`: whether the variable existed before the paths diverged: its class then contains only the same object. */
export function classOf(
  t: Tracer,
  variable: Variable,
  isOld: (variable: Variable) => boolean,
): string {
  const ownClass = (own: OwnPart | undefined) => (own ? ` with ${classOf(t, own, isOld)}` : '');
  const itself = () => `${variable.kind} number ${idOf(variable)}`;
  const ofCell = (cell: CellReference) =>
    cell.kind === 'object' ? idOf(cell.value) : isOld(cell) ? idOf(cell) : 'new';
  switch (variable.kind) {
    case 'tensor': {
      const tensor = t.use(variable);
      return `${formatSpec(tensor)} ${formatStrides(tensor)} ${tensor.device.name}`;
    }
    case 'scalar':
      return variable.type;
    case 'dynamic': {
      const { tensor, sizes } = variable;
      const known = sizes.map((size) => size ?? '?').join();
      return `${tensor.dtype} of sizes ${known} ${tensor.device.name}`;
    }
    case 'text':
      return `text ${patternOf(variable)}`;
    case 'list':
      return `any number of ${variable.of} ${variable.depth} ${formatSpec(variable.tensor)}`;
    case 'symbolic':
      return typeof variable.value;
    case 'constant': {
      const value = constantOf(t, variable);
      if (typeof value === 'number' || typeof value === 'boolean') return typeof value;
      return typeof value === 'symbol' ? itself() : `${typeof value} ${String(value)}`;
    }
    case 'object':
    case 'function':
      return `value ${idOf(variable.value)}`;
    case 'closure': {
      const { code, cells, name } = variable;
      return `closure ${idOf(code)} ${name ?? ''} ${cells.map(ofCell).join()}`;
    }
    case 'newArray':
      if (isOld(variable) || variable.named || variable.fixed) return itself();
      if (variable.growable) return `array of any number of ${formText(t, variable.growable.form)}`;
      return `${variable.isArguments ? 'arguments' : 'array'} of ${variable.elements.length}${ownClass(variable.own)}`;
    case 'newObject': {
      if (isOld(variable) || variable.traits) return itself();
      const { entries, prototype } = variable;
      const above = prototype ? idOf(prototype.value) : String(prototype);
      const { order } = variable;
      return `object ${above} ${JSON.stringify([...entries.keys()])} ${order ? 'in some order' : ''}`;
    }
    case 'newCollection': {
      if (isOld(variable)) return itself();
      const keys = [...variable.entries.keys()].map(labelOf);
      return `${variable.type} ${keys.join()} ${variable.order ? 'in some order' : ''}${ownClass(variable.own)}`;
    }
    case 'bound': {
      const { target, args, name, madeIn } = variable;
      if (!madeIn || isOld(variable)) return itself();
      return `bound ${classOf(t, target, isOld)} ${args.length} ${name ? 'named' : ''}`;
    }
    case 'iterator': {
      const { over, what, next, done, passed, position } = variable;
      if (isOld(variable) || position || passed.size > 0) return itself();
      return `iterator of ${what} ${next} ${done} ${classOf(t, over, isOld)}`;
    }
    case 'cell':
      return isOld(variable) ? itself() : 'cell';
    case 'uninitialized':
      return 'uninitialized';
    default:
      return itself();
  }
}
