/** Options for what `explain()` prints beyond parts, breaks and memory. */
export interface ExplainOptions {
  /** Lists inputs, every guard, and the values saved for backward. False by default. */
  readonly guards?: boolean;
  /** `page`: an HTML page that shows each source line beside its ops. Text by default. */
  readonly as?: 'text' | 'page';
}
