/** The public types of captures, which need none of the parser's. */

/** biome-ignore lint/complexity/noBannedTypes: a capture takes whatever can be called. */
export type AnyFunction = Function;

/**
 * How the scope of a function was found: the `scope` option, the build plugin's marker, the inspector (live, or
 * the copy that the engine lists), or its printed text, when that uses nothing but globals.
 */
export type CaptureRoute = 'option' | 'plugin' | 'inspector' | 'snapshot' | 'globals';

export interface CaptureOptions {
  /** Values of the outer variables, by name (`this` for an arrow's); then no inspector is needed. */
  readonly scope?: Readonly<Record<string, unknown>> | undefined;
}
