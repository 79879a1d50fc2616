import type { Attribute } from '../jsonapi/definition/attributes.js';
import type { ResourceDefinition } from '../jsonapi/definition/definition.js';

/** What a rule may ask of the related resources of a device; undefined: every attribute. */
const RELATED: Record<string, readonly string[] | undefined> = {
  tags: ['id', 'name', 'color'],
  device_groups: ['id', 'name'],
  custom_attributes: ['name', 'value'],
  installed_applications: undefined,
};

export const RELATED_TYPES = Object.keys(RELATED);

/** Relationships that a rule compares with an id, by the column of the device. */
const LINKS: Record<string, string> = {
  dep_profile_id: 'dep_profile',
  enrollment_link_id: 'enrollment_link',
};

/** It moves with every contact, so that a rule may only ask how long ago it was. */
export const CONTACT = 'last_seen';

function isSteady({ filterable, volatile, readRole }: Attribute): boolean {
  return filterable && volatile !== true && readRole === undefined;
}

/**
 * The attributes of a device that a rule may compare: all that can be filtered by and do not change
 * with every report. The migration's trigger watches the same columns; a test compares both.
 */
export function ruleAttributes({ attributes }: ResourceDefinition): string[] {
  return Object.keys(attributes).filter((name) => {
    const attribute = attributes[name];
    return attribute !== undefined && isSteady(attribute);
  });
}

/** The columns of a device whose changes may change what rules decide. */
export function ruleColumns(devices: ResourceDefinition): string[] {
  return [...ruleAttributes(devices), ...Object.keys(LINKS)].sort();
}

/** Why a rule can't compare this column of a device; undefined if it can. */
export function faultOfColumn(name: string, devices: ResourceDefinition): string | undefined {
  if (name === 'id' || Object.hasOwn(LINKS, name)) return undefined;
  if (name === CONTACT) {
    return `"${CONTACT}" changes with every contact: compare it with a duration, such as P30D`;
  }
  const attribute = devices.attributes[name];
  if (attribute !== undefined && isSteady(attribute)) return undefined;
  return `"${name}" changes with every report: a rule can't name it, GET /devices can filter by it`;
}

/** Why a rule can't look into this relationship; undefined if it can. */
export function faultOfRelated(type: string): string | undefined {
  if (Object.hasOwn(RELATED, type)) return undefined;
  const known = RELATED_TYPES.join(', ');
  return `a rule can't look into ${type}, only into ${known}; dep_profile takes an id`;
}

/** Why a rule can't compare this column of a related resource; undefined if it can. */
export function faultOfRelatedColumn(type: string, name: string): string | undefined {
  const allowed = RELATED[type];
  if (allowed === undefined || allowed.includes(name)) return undefined;
  return `a rule can compare ${allowed.join(', ')} of ${type}, not "${name}"`;
}
