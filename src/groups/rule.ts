import { validationError } from '../errors.js';
import { type Actor, SYSTEM_ACTOR } from '../jsonapi/context.js';
import type { Registry, ResourceDefinition } from '../jsonapi/definition/definition.js';
import { parseStoredFilter } from '../jsonapi/query/filter.js';
import type { FilterNode, NodeOf } from '../jsonapi/query/filter-node.js';
import { CONTACT, faultOfColumn, faultOfRelated, faultOfRelatedColumn } from './rule-fields.js';

/** A rule that was validated. */
export interface Rule {
  /** All of them must hold. */
  nodes: FilterNode[];
  /** Names of the facts that it mentions: columns of devices, and types of related resources. */
  facts: string[];
  /** The shortest time that it compares `last_seen` with. */
  shortestHours: number | null;
}

/** It compares a time with a duration. */
export const TIME_FACT = 'time';

/** A rule of 50 comparisons is shorter, unless lists in it are very long. */
const MAX_CHARACTERS = 64_000;

/** May read each fact: a stored rule is read again to be evaluated. */
const EVALUATION: Actor = { ...SYSTEM_ACTOR, role: 'admin' };

/**
 * Reads a rule, which is a filter of GET /devices. AppError 422 that names every fault, with the pointer
 * of the rule in a document.
 */
export function readRule(value: unknown, registry: Registry, actor: Actor = EVALUATION): Rule {
  const devices = registry.get('devices');
  if (devices === undefined) throw new Error('there is no resource of devices');
  if (JSON.stringify(value).length > MAX_CHARACTERS) {
    throw ruleFaults([`rule may have ${MAX_CHARACTERS} characters of JSON`]);
  }
  if (!Array.isArray(value) || value.length === 0) {
    throw ruleFaults([
      'rule must be an array of at least one filter, as filter of GET /devices is',
    ]);
  }
  const place = { name: 'rule', rules: value };
  const { nodes, faults } = parseStoredFilter(place, devices, { registry, actor });
  const reading: Reading = { devices, faults: new Set(faults), facts: new Set(), hours: [] };
  for (const node of nodes) readNode(node, reading);
  if (reading.faults.size > 0) throw ruleFaults([...reading.faults]);
  const shortestHours = reading.hours.length > 0 ? Math.min(...reading.hours) : null;
  return { nodes, facts: [...reading.facts].sort(), shortestHours };
}

/** AppError 422 that points at the rule of a document. */
export function ruleFaults(faults: string[]) {
  const source = { pointer: '/data/attributes/rule' };
  return validationError(faults.map((detail) => ({ detail, source })));
}

interface Reading {
  devices: ResourceDefinition;
  faults: Set<string>;
  facts: Set<string>;
  /** Durations that last_seen is compared with. */
  hours: number[];
  /** Inside of a related resource: its type. */
  inside?: string;
}

function readNode(node: FilterNode, reading: Reading): void {
  switch (node.kind) {
    case 'and':
    case 'or':
      for (const inner of node.nodes) readNode(inner, reading);
      return;
    case 'not':
      readNode(node.node, reading);
      return;
    case 'related':
      readRelated(node, reading);
      return;
    case 'columns':
      readColumn(node.column.name, node.kind, reading);
      readColumn(node.other.name, node.kind, reading);
      return;
    case 'search':
      reading.faults.add('a rule names one attribute; it can\'t use "search"');
      return;
    case 'codes':
      reading.faults.add('a rule can\'t look for findings; use "health"');
      return;
    case 'age':
      reading.facts.add(TIME_FACT);
      if (node.column.name === CONTACT) reading.hours.push(node.hours);
  }
  readColumn(node.column.name, node.kind, reading);
}

function readRelated(node: NodeOf<'related'>, reading: Reading): void {
  const { type } = node.shape;
  const isNested = reading.inside !== undefined;
  const fault = isNested ? `a rule can't look from ${reading.inside} into ${type}` : undefined;
  const found = fault ?? faultOfRelated(type);
  if (found !== undefined) {
    reading.faults.add(found);
    return;
  }
  reading.facts.add(type);
  readNode(node.node, { ...reading, inside: type });
}

function readColumn(name: string, kind: FilterNode['kind'], reading: Reading): void {
  const { inside, devices, faults, facts } = reading;
  if (inside !== undefined) {
    const fault = faultOfRelatedColumn(inside, name);
    if (fault !== undefined) faults.add(fault);
    return;
  }
  const isContact = name === CONTACT && (kind === 'age' || kind === 'null');
  const fault = isContact ? undefined : faultOfColumn(name, devices);
  if (fault !== undefined) faults.add(fault);
  else facts.add(name);
}
