/** Why a function can't be captured: a closed set, each with an explanation and a hint. */
export type CaptureRefusalReason = keyof typeof captureRefusals;

export const captureRefusals = {
  native: {
    explanation: 'The function is implemented by the engine or by Node, so it has no user source.',
    remedy: 'Call it from a function of your own, or keep it outside the captured function.',
  },
  opaque: {
    explanation: 'The function is part of tostatic, and is not traced.',
    remedy: 'Call it outside the captured function.',
  },
  proxy: {
    explanation: 'The function is wrapped in a Proxy, whose traps would be skipped by a capture.',
    remedy: 'Pass the function that the Proxy wraps.',
  },
  bound: {
    explanation: 'The function was made by bind(), and only the inspector can look inside it.',
    remedy:
      'Pass an arrow that makes the call in place of the bound function: (x) => trainer.step(x).',
  },
  'no-source': {
    explanation: 'The script that the function came from, or its place there, was not found.',
    remedy: 'Define the function in a file, or pass `scope` so that its printed text is used.',
  },
  unparsable: {
    explanation: 'The source of the function is not JavaScript that the parser understands.',
    remedy: 'Compile the file for ES2022 before it runs.',
  },
  'no-scope': {
    explanation: 'The function uses outer variables, and nothing here can read them.',
    remedy:
      "Add `tostatic.vite()` (or rollup, esbuild, webpack) of 'tostatic/plugin' to the bundler's " +
      'plugins, start Node with `--import tostatic/plugin/node` (Bun, Deno: `--preload`, see docs/plugin.md), or pass `scope: { name: value }`.',
  },
  'shadowed-name': {
    explanation:
      'An outer variable that changes has the name of a local one where a call begins, so it is hidden at the entry.',
    remedy: 'Rename one of the two variables.',
  },
  'unsafe-entry': {
    explanation:
      'The scope is taken at the entry of a call that never runs the body; here it would run some, or begin a static ' +
      'block, where `this` and imported variables are not those of the function.',
    remedy:
      'Move assignments and property reads out of computed keys in parameters, put a statement before a class with ' +
      'static fields or blocks, or pass `scope`.',
  },
  'entry-missed': {
    explanation: 'The entry of the function was not reached, so its scope could not be taken.',
    remedy: 'Pass `scope: { name: value }`, and report the function: this is a gap in tostatic.',
  },
} as const satisfies Record<string, { explanation: string; remedy: string }>;

export interface CaptureRefusal {
  readonly refused: true;
  readonly reason: CaptureRefusalReason;
  /** The details of this case: names, the parser's message. */
  readonly detail: string;
  /** For 'no-scope' and 'shadowed-name': the outer names that can't be read. */
  readonly names?: readonly string[];
}

export function refuse(
  reason: CaptureRefusalReason,
  detail: string,
  names?: readonly string[],
): CaptureRefusal {
  return names === undefined
    ? { refused: true, reason, detail }
    : { refused: true, reason, detail, names };
}

export function isRefusal<T extends object>(result: T | CaptureRefusal): result is CaptureRefusal {
  return 'refused' in result;
}

/** Returns detail, explanation and hint as one text. */
export function printRefusal(refusal: CaptureRefusal): string {
  const { explanation } = captureRefusals[refusal.reason];
  return `${refusal.detail}\n${explanation}\n${remedyOf(refusal)}`;
}

/** Returns the hint, with the function's own names. */
export function remedyOf({ reason, names = [] }: CaptureRefusal): string {
  const { remedy } = captureRefusals[reason];
  if (names.length === 0) return remedy;
  const listed = names.map((name) => (name === 'this' ? 'this: value' : name)).join(', ');
  return remedy.replace('scope: { name: value }', `scope: { ${listed} }`);
}
