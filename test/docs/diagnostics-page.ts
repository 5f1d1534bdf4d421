import {
  type BreakReason,
  breakReasons,
  expectedInstead,
  hintForOneProgram,
  isLimitation,
} from '../../src/traces/graph-break.ts';

/** What errors expect where a reason has no other expectation. */
const inTheProgram = expectedInstead('forced');

/** The catalogue of what ends a graph, as a page: what `docs/diagnostics.md` holds. */
export function diagnosticsPage(): string {
  const entries = Object.entries(breakReasons).map(([id, { explanation, hint }]) => {
    const reason = id as BreakReason;
    const limitation = isLimitation(reason);
    const note = limitation ? ' This is a limitation of tostatic, not of your code.' : '';
    const other = hintForOneProgram(reason);
    const remedy = other === hint ? hint : `${hint} With \`fullGraph\`: ${other}`;
    const expected = expectedInstead(reason);
    const needed = expected === inTheProgram ? '' : `**Expected:** ${expected}.\n\n`;
    return `## \`${id}\`\n\n${explanation}${note}\n\n${needed}**Remedy:** ${remedy}\n`;
  });
  const errors = Object.entries(errorClasses).map(([name, { when, remedy }]) => {
    return `| \`${name}\` | ${when} | ${remedy} |`;
  });
  return `${header}\n${entries.join('\n')}\n${errorsHeader}${errors.join('\n')}\n`;
}

/** Every class of error that leaves this package, by name. */
export const errorClasses: Readonly<
  Record<string, { readonly when: string; readonly remedy: string }>
> = {
  ShapeError: {
    when: 'Shapes that an operation, or an `inputSpec`, does not take.',
    remedy: 'Reshape, transpose or pad the operand that is named.',
  },
  DTypeError: {
    when: 'A dtype that an operation, or an `inputSpec`, does not take.',
    remedy: 'Convert with `to()`.',
  },
  DeviceError: {
    when: "A device that is missing, that is mixed with another, or that doesn't support the operation.",
    remedy: 'Move tensors with `to()`, or choose another device.',
  },
  DisposedError: {
    when: 'A disposed tensor is used.',
    remedy: 'Dispose of it after its last use, or return it from `tidy()`.',
  },
  AutogradError: {
    when: "A gradient that can't be computed: a second backward, a changed saved value, no graph.",
    remedy: '`retainGraph`, `clone()`, or the form without underscore, as the message says.',
  },
  OutOfMemoryError: {
    when: 'The device has no more memory.',
    remedy: 'Smaller batches, `checkpoint()`, or `dispose()` of what is not needed.',
  },
  DataError: {
    when: 'A file that is missing, damaged, of another version or of another kind.',
    remedy: 'Save or download it again.',
  },
  ArgumentError: {
    when: "Any other argument that a function doesn't accept.",
    remedy: 'Pass what the message expects.',
  },
  CaptureError: {
    when: "A function that can't be captured under `fallback: 'error'`, or can't be saved.",
    remedy: 'Rewrite the part that is named, or allow the fallback.',
  },
  CheckError: {
    when: 'Check mode found a compiled program that differs from its traced program: a bug in tostatic.',
    remedy: 'Switch off the pass or memory switch that the message names, and report it.',
  },
  FullGraphError: {
    when: "With `fullGraph`, a function that can't become one program, for one of the reasons above.",
    remedy: 'The remedy of that reason; its record is `error.record`.',
  },
  FailedCheck: {
    when: 'A check of yours (`if (bad) throw …`) fails in a loaded program, which has no code to throw your error.',
    remedy: 'Pass values for which the function does not throw.',
  },
  RecordedWriteInPlace: {
    when: 'A write in place that gradients flow through, while a program is built.',
    remedy: 'Use the form without underscore.',
  },
  ShapeDependsOnData: {
    when: 'The size of a result depends on values (`bincount()`), while a program is built.',
    remedy: 'Call it after the captured function, or use a mask.',
  },
  InvariantError: {
    when: 'A bug in tostatic.',
    remedy:
      'Report it with the message; without `fullGraph`, `strict` and `check` that part runs as ordinary JavaScript.',
  },
};

const errorsHeader = `# Classes of errors

All but the last are \`TostaticError\`s: they say what was given, what is expected, where in your file, and what to do, as text and as properties. An error of your own code keeps its type and
fields; while a function is compiled to one program, your source lines with \`<--- HERE\` are added to its message.

| class | when | remedy |
| --- | --- | --- |
`;

const header = `# What ends a graph

Each reason has a name, under which \`stats().breaks\`, \`explain()\` and the log show it. Without \`fullGraph\` the graph breaks there and execution continues; with \`fullGraph: true\` it
is a \`FullGraphError\`, except \`throw\`, where the function throws its own error, and \`op-error\`, where the op's error is thrown with the user's lines.
`;
