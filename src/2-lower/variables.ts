import type { AnyNode, Identifier, Node } from 'acorn';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { Reg, Span } from '../vm/bytecode/instructions.ts';
import type { CodeBuilder } from './code-builder.ts';
import { type Analysis, type Binding, contains, type FunctionScope } from './scopes/bindings.ts';
import { spanOf } from './syntax/nodes.ts';

/**
 * Reads and writes names. A variable is in its own register; if inner functions share it, it is in a cell, and the
 * register contains the cell.
 */
export class Variables {
  private readonly registers = new Map<Binding, Reg>();
  private readonly bindingOf = new Map<Reg, Binding>();

  constructor(
    private readonly code: CodeBuilder,
    private readonly analysis: Analysis,
    readonly fn: FunctionScope,
    entrySpan: Span,
  ) {
    for (const [index, binding] of fn.outer.entries()) {
      const dst = code.local(binding.name);
      this.registers.set(binding, dst);
      code.emit({ op: 'outerCell', dst, index }, entrySpan);
    }
    for (const binding of fn.bindings) {
      if (isUnused(binding)) continue;
      const register = code.local(binding.name);
      this.registers.set(binding, register);
      if (!binding.captured) this.bindingOf.set(register, binding);
    }
  }

  /** Creates the variables of a scope: at its start, and again for every iteration of a loop. */
  enter(node: Node): void {
    const scope = this.analysis.scopes.get(node);
    if (!scope) return;
    const span = { start: node.start, end: node.start };
    for (const binding of scope.bindings.values()) {
      const dst = this.registers.get(binding);
      if (dst === undefined) continue;
      if (binding.captured) this.code.emit({ op: 'newCell', dst, name: binding.name }, span);
      if (!binding.usedEarly) continue;
      if (binding.kind !== 'var') {
        if (!binding.captured) this.code.emit({ op: 'uninitialized', dst }, span);
        continue;
      }
      const mark = this.code.mark();
      const value = binding.captured ? this.code.temp() : dst;
      this.code.emit({ op: 'const', dst: value, value: undefined }, span);
      if (binding.captured) this.store(binding, value, span);
      this.code.release(mark);
    }
  }

  /** `for (let …)`: gives the next iteration new cells with the same values. */
  renewCells(node: Node): void {
    const scope = this.analysis.scopes.get(node);
    if (!scope) return;
    const span = { start: node.start, end: node.start };
    for (const binding of scope.bindings.values()) {
      if (!binding.captured) continue;
      const cell = this.cell(binding);
      const { name } = binding;
      const mark = this.code.mark();
      const value = this.code.temp();
      this.code.emit({ op: 'loadCell', dst: value, cell, name }, span);
      this.code.emit({ op: 'newCell', dst: cell, name }, span);
      this.code.emit({ op: 'storeCell', cell, src: value, name }, span);
      this.code.release(mark);
    }
  }

  read(node: Identifier, dst?: Reg): Reg {
    const { binding, checked } = this.useOf(node);
    const { name } = node;
    const span = spanOf(node);
    if (!binding) {
      const result = dst ?? this.code.temp();
      // The global `undefined` can't be assigned, and is assumed not to be shadowed.
      if (name === 'undefined') {
        this.code.emit({ op: 'const', dst: result, value: undefined }, span);
      } else this.code.emit({ op: 'loadFree', dst: result, name }, span);
      return result;
    }
    const register = this.register(binding);
    if (!binding.captured) {
      if (checked) this.code.emit({ op: 'checkInitialized', src: register, name }, span);
      if (dst === undefined || dst === register) return register;
      this.code.emit({ op: 'move', dst, src: register }, span);
      return dst;
    }
    // A variable that a handler may read is not written directly, because the check may throw.
    const direct = checked && this.code.protection ? undefined : dst;
    const result = direct ?? this.code.temp();
    this.code.emit({ op: 'loadCell', dst: result, cell: register, name }, span);
    if (checked) this.code.emit({ op: 'checkInitialized', src: result, name }, span);
    if (dst === undefined || dst === result) return result;
    this.code.emit({ op: 'move', dst, src: result }, span);
    return dst;
  }

  /** Reads a variable without an identifier in the source. */
  load(binding: Binding, span: Span): Reg {
    const register = this.register(binding);
    if (!binding.captured) return register;
    const dst = this.code.temp();
    this.code.emit({ op: 'loadCell', dst, cell: register, name: binding.name }, span);
    return dst;
  }

  /** Assigns a variable that already exists. */
  assign(node: Identifier, src: Reg, span: Span): void {
    const { binding, checked, constant } = this.useOf(node);
    const { name } = node;
    if (!binding) {
      this.code.emit({ op: 'storeFree', name, src }, span);
      return;
    }
    const mark = this.code.mark();
    if (checked) this.read(node);
    if (!constant) this.store(binding, src, span);
    // In sloppy mode, assigning to a function's own name is ignored.
    else if (binding.kind !== 'self' || this.fn.strict) {
      this.code.intrinsic('assignToConstant', [this.code.constant(name, span)], span);
    }
    this.code.release(mark);
  }

  /** Stores the first value of a declared variable. A `var` of a script may already have a value. */
  initialize(node: Identifier, src: Reg, span: Span): void {
    const { binding } = this.useOf(node);
    if (binding) this.store(binding, src, span);
    else if (this.analysis.scriptNames.has(node.name)) this.handOver(src, span);
    else this.assign(node, src, span);
  }

  /** Lets the engine initialize a name of the script: the code is suspended until it has. */
  private handOver(src: Reg, span: Span): void {
    const mark = this.code.mark();
    const next = this.code.label();
    this.code.yield('yield', this.code.temp(), src, next, span);
    this.code.bind(next);
    this.code.release(mark);
  }

  /** Writes a variable without an identifier in the source. */
  store(binding: Binding, src: Reg, span: Span): void {
    const register = this.registers.get(binding);
    if (register === undefined) return; // unused
    const { name } = binding;
    if (binding.captured) {
      this.code.emit({ op: 'storeCell', cell: register, src, name }, span);
    } else if (src !== register) this.code.emit({ op: 'move', dst: register, src }, span);
  }

  /**
   * Returns the variable's own register if the value of `node` can be computed directly into it. `once`: only the
   * value's last instruction writes the register, so the value may read the variable itself.
   */
  destination(name: Identifier, node: AnyNode, once: boolean): Reg | undefined {
    const { binding, checked, constant } = this.useOf(name);
    if (!binding || binding.captured || checked || constant) return undefined;
    if (!once && this.isWatched(name)) return undefined;
    if (!once && binding.uses.some((offset) => contains(node, offset))) return undefined;
    return this.registers.get(binding);
  }

  /**
   * Returns true if a handler may read the variable's value from before this write, in which case nothing may fail
   * after the write. A variable declared in a `try` is out of its handler's scope.
   */
  isWatched(name: Identifier): boolean {
    const { binding } = this.useOf(name);
    if (!binding || !this.code.protection) return false;
    return binding.kind === 'var' || binding.initializedFrom !== name.end;
  }

  /** Returns true if the register belongs to a variable that is written in this text. */
  isWrittenWithin(register: Reg, text: Span): boolean {
    const binding = this.bindingOf.get(register);
    return binding?.writes.some((offset) => contains(text, offset)) ?? false;
  }

  isUnused(node: Identifier): boolean {
    const { binding } = this.useOf(node);
    return binding !== undefined && isUnused(binding);
  }

  /**
   * Returns the `this` binding of a derived constructor; undefined elsewhere, where `this` belongs to the frame.
   */
  thisBinding(node: Node): Binding | undefined {
    return this.analysis.thisUses.get(node);
  }

  /** Like `load`, with a check that the variable is initialized. */
  loadChecked(binding: Binding, span: Span): Reg {
    const src = this.load(binding, span);
    this.code.emit({ op: 'checkInitialized', src, name: binding.name }, span);
    return src;
  }

  /** Returns the register of a variable's cell, which may belong to an enclosing function. */
  cell(binding: Binding): Reg {
    invariant(binding.captured, 'only captured variables have cells');
    return this.register(binding);
  }

  register(binding: Binding): Reg {
    const register = this.registers.get(binding);
    invariant(register !== undefined, `${binding.name} has a register`);
    return register;
  }

  isFree(node: Identifier): boolean {
    return this.useOf(node).binding === undefined;
  }

  /** Returns true for a variable that no other function shares and that is read without a check. */
  isLocal(node: Identifier): boolean {
    const { binding, checked } = this.useOf(node);
    return binding !== undefined && !binding.captured && !checked;
  }

  /** Binds the parameters to the cells of a mapped `arguments` object. */
  shareWithArguments(node: Node, names: readonly string[], object: Reg, span: Span): void {
    for (const [name, binding] of this.analysis.scopes.get(node)?.bindings ?? []) {
      if (binding.kind !== 'parameter') continue;
      const dst = this.register(binding);
      const index = names.lastIndexOf(name);
      this.code.emit({ op: 'parameterCell', dst, arguments: object, index }, span);
    }
  }

  areUsedEarly(node: Node): boolean {
    const bindings = this.analysis.scopes.get(node)?.bindings.values() ?? [];
    return [...bindings].some((binding) => binding.usedEarly);
  }

  private useOf(node: Identifier) {
    const use = this.analysis.uses.get(node);
    invariant(use, `the meaning of ${node.name} was analysed`);
    return use;
  }
}

/** A parameter's declaration counts as a use. */
function isUnused(binding: Binding): boolean {
  if (binding.captured) return false;
  return binding.uses.length <= (binding.kind === 'parameter' ? 1 : 0);
}
