import { noGrad } from '../../../../runtime/autograd/grad-mode.ts';
import { bind } from '../../../../runtime/ops/core/bind.ts';
import { printOp } from '../../../../runtime/program/control-ops.ts';
import { mapText } from '../../../../runtime/program/number-text.ts';
import type { PrintPart } from '../../../../runtime/run-program/control/print.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { Tracer } from '../../state/tracer.ts';
import { constantOf } from '../../state/value-guards.ts';
import { type DeviceScalar, undefinedVariable, type Variable } from '../../variables/variable.ts';
import { changingNumber } from './scalars.ts';

const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;

/**
 * Prints a line on the console from within the program, if the whole function is one program; otherwise console calls
 * are native. Returns undefined for other calls, and for arguments that are neither tensors nor primitives.
 */
export function printInGraph(
  t: Tracer,
  fn: unknown,
  args: readonly Variable[],
): Variable | undefined {
  if (t.control.policy !== 'always') return undefined;
  const method = methods.find((name) => console[name] === fn);
  if (!method) return undefined;
  const operands: Tensor[] = [];
  const parts: PrintPart[] = [];
  for (const arg of args) {
    const part = partOf(t, arg, operands);
    if (!part) return undefined;
    parts.push(part);
  }
  t.runApi(() => noGrad(() => bind(printOp, operands, { method, parts: JSON.stringify(parts) })));
  return undefinedVariable;
}

function scalarPart({ tensor, type }: DeviceScalar, operands: Tensor[]) {
  const index = operands.push(tensor) - 1;
  return type === 'boolean' ? { boolean: index } : { number: index };
}

function partOf(t: Tracer, arg: Variable, operands: Tensor[]): PrintPart | undefined {
  switch (arg.kind) {
    case 'tensor':
      return { value: operands.push(t.use(arg)) - 1 };
    case 'scalar':
      return scalarPart(arg, operands);
    case 'text':
      return { text: mapText(arg.parts, (value) => scalarPart(value, operands)) };
    case 'symbolic': {
      // The value changes between calls: a value guard would need a trace for each.
      const number = changingNumber(t, arg);
      return number ? scalarPart(number, operands) : { constant: constantOf(t, arg) as boolean };
    }
    case 'constant': {
      const constant = constantOf(t, arg);
      if (typeof constant === 'symbol' || typeof constant === 'bigint') return undefined;
      return constant === undefined ? undefined : { constant };
    }
    default:
      return undefined;
  }
}
