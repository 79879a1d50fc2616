import { member } from '../../../jsonapi/definition/definition.js';
import type { Schema } from '../../api-route.js';
import { DEP_TEXTS } from './dep.js';
import { DEVICE_TEXTS } from './devices.js';
import { INVENTORY_TEXTS } from './inventory.js';
import { MANAGEMENT_TEXTS } from './management.js';
import { SERVER_TEXTS } from './server.js';

/** What each attribute of a type means, by its name. */
export type AttributeTexts = Readonly<Record<string, string>>;

/** What each attribute means, by type; a test finds one that has no text. */
export const ATTRIBUTE_TEXTS: Readonly<Record<string, AttributeTexts>> = {
  ...DEVICE_TEXTS,
  ...INVENTORY_TEXTS,
  ...MANAGEMENT_TEXTS,
  ...DEP_TEXTS,
  ...SERVER_TEXTS,
};

/** The schema of an attribute with its meaning in front of its other description. */
export function described(schema: Schema, type: string, name: string): Schema {
  const text = member(member(ATTRIBUTE_TEXTS, type) ?? {}, name);
  const description = [text, schema.description].filter((part) => part !== undefined).join(' ');
  return description === '' ? schema : { ...schema, description };
}
