import type { ControlForm } from '../../device/kernel-op.ts';
import { assertNever } from '../../errors/invariant.ts';
import type { Step } from '../../program/plan.ts';
import type { ValueTable } from '../../program/program.ts';
import type { Action, BindPlan } from '../scope/action.ts';
import { compileAssert } from './assert.ts';
import { compileCall, compileCallBackward } from './call.ts';
import { compileCond, compileCondBackward } from './cond.ts';
import { compileDimension } from './dimension.ts';
import { compileDraw } from './draw.ts';
import { compileHostNumber } from './host-number.ts';
import { compileList } from './list.ts';
import { compileOptionalGradient } from './optional-gradient.ts';
import { compilePrint } from './print.ts';
import { compileWhile, compileWhileBackward } from './while-loop.ts';

/** Compiles an op with regions. */
export function compileControl(
  form: ControlForm,
  step: Step,
  values: ValueTable,
  bind: BindPlan,
): Action {
  switch (form) {
    case 'cond':
      return compileCond(step, values, bind);
    case 'while':
      return compileWhile(step, values, bind);
    case 'condBackward':
      return compileCondBackward(step, values, bind);
    case 'whileBackward':
      return compileWhileBackward(step, values, bind);
    case 'assert':
      return compileAssert(step, values);
    case 'print':
      return compilePrint(step, values);
    case 'hostNumber':
      return compileHostNumber(step, values);
    case 'draw':
      return compileDraw(step, values);
    case 'list':
      return compileList(step, values);
    case 'call':
      return compileCall(step, values, bind);
    case 'callBackward':
      return compileCallBackward(step, values);
    case 'dimension':
      return compileDimension(step, values);
    case 'missing':
      return compileOptionalGradient(step, values);
    default:
      return assertNever(form, 'control op');
  }
}
