import { invariant } from '../../../../runtime/errors/invariant.ts';
import type { RecordedKernel } from '../actions/actions.ts';
import type { Argument, Num, NumberMatcher } from '../recording/run-numbers.ts';

/** JavaScript with a placeholder for each of its numbers: `#`. */
export interface Statement {
  readonly kind: 'statement';
  readonly text: string;
  readonly numbers: readonly Num[];
}

export interface StatementNames {
  /** Returns the variable of a kernel. */
  readonly kernel: (kernel: RecordedKernel) => string;
  /** Returns the variable of a table of numbers. */
  readonly table: (view: string, values: readonly number[]) => string;
}

/** Longer sequences of numbers become tables. */
const mostSingly = 6;

/** One statement for each kernel, including the writes before it. */
export function statementsOf(matcher: NumberMatcher, names: StatementNames): Statement[] {
  const statements: Statement[] = [];
  let texts: string[] = [];
  let numbers: Num[] = [];
  const end = (): void => {
    if (texts.length === 0) return;
    statements.push({ kind: 'statement', text: texts.join(';'), numbers });
    [texts, numbers] = [[], []];
  };
  matcher.actions.forEach((action, i) => {
    const add: Add = (text, ...more) => {
      texts.push(text);
      numbers.push(...more);
    };
    switch (action.kind) {
      case 'write':
        addWrite(matcher, i, action, names, add);
        // It is part of the kernel's statement.
        return;
      case 'fill': {
        const others = matcher.others(i, action);
        const value = matcher.match(
          action.value,
          others.map((other) => other.value),
        );
        add(`${action.view}.fill(#,#,#)`, value, action.from, action.to);
        break;
      }
      case 'move':
        add(`${action.view}.copyWithin(#,#,#)`, action.to, action.from, action.end);
        break;
      case 'call': {
        const others = matcher.others(i, action);
        const args = action.args.map((arg, k) =>
          matcher.match(
            arg,
            others.map((o) => o.args[k]!),
          ),
        );
        add(`${names.kernel(action.kernel)}(${args.map(() => '#').join()})`, ...args);
        break;
      }
      case 'host': {
        const others = matcher.others(i, action);
        const args = action.args.map((arg, k) => {
          return matcher.argument(
            arg,
            others.map((o) => o.args[k]!),
          );
        });
        const kernels = action.kernels.map((kernel) => names.kernel(kernel));
        const numericArgs = args.filter((arg): arg is Num => isNumber(arg));
        const all = [...args.map(hostArgument), ...kernels];
        add(`host.${action.name}(${all.join()})`, ...numericArgs);
        break;
      }
    }
    end();
  });
  end();
  return statements;
}

type Add = (text: string, ...numbers: readonly Num[]) => void;

function addWrite(
  matcher: NumberMatcher,
  i: number,
  action: Extract<NumberMatcher['actions'][number], { kind: 'write' }>,
  names: StatementNames,
  add: Add,
): void {
  const { view, at, values } = action;
  const others = matcher.others(i, action);
  const matches = values.map((value, k) =>
    matcher.match(
      value,
      others.map((o) => o.values[k]!),
    ),
  );
  const place = matcher.match(
    at,
    others.map((other) => other.at),
  );
  invariant(typeof place === 'number', 'a place that a run computes');
  const plain = matches.filter((each) => typeof each === 'number');
  if (matches.length > mostSingly && plain.length === matches.length) {
    add(`${view}.set(${names.table(view, plain)},#)`, place);
    return;
  }
  matches.forEach((value, k) => {
    add(`${view}[#]=#`, place + k, value);
  });
}

const isNumber = (arg: Argument): arg is Num =>
  typeof arg === 'number' || (typeof arg === 'object' && 'form' in arg);

function hostArgument(arg: Argument): string {
  if (isNumber(arg)) return '#';
  const text = JSON.stringify(arg);
  invariant(!text.includes('#'), 'a text with a place for a number');
  return text;
}
