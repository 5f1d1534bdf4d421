/** Numbers the local variables of a kernel, and resolves them by name in nested block scopes. */
export class KernelLocals {
  /** Scopes from the outermost to the innermost; the second is the function's body, in which `var` declares. */
  readonly #scopes: Map<string, number>[] = [new Map()];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Calls `body` inside a new block scope. */
  within<T>(body: () => T): T {
    this.#scopes.push(new Map());
    try {
      return body();
    } finally {
      this.#scopes.pop();
    }
  }

  /** Whether the function's body, not a block inside it, declares the name. */
  hasVar(name: string): boolean {
    return this.#scopes[1]?.has(name) ?? false;
  }

  /** Declares a variable with `let` or `const`, or hoisted with `var`; returns its number. */
  declare(name: string, hoisted: boolean): number {
    const scope = this.#scopes[hoisted ? 1 : this.#scopes.length - 1]!;
    const known = hoisted ? scope.get(name) : undefined;
    const id = known ?? this.#count++;
    scope.set(name, id);
    return id;
  }

  /** The number of the innermost variable of this name. */
  named(name: string): number | undefined {
    for (let i = this.#scopes.length - 1; i >= 0; i--) {
      const id = this.#scopes[i]!.get(name);
      if (id !== undefined) return id;
    }
    return undefined;
  }
}
