/** Options for what `explain()` prints beyond parts, breaks and memory. */
export interface ExplainOptions {
  /** Lists inputs, every guard, and the values saved for backward. False by default. */
  readonly guards?: boolean;
  /** `page`: an HTML page with the source beside what became of each line. Text by default. */
  readonly as?: 'text' | 'page';
}
