import type { conditionsOf, keysOf } from '../../commands/command-types.js';
import { bool, json, oneOf, text } from '../../jsonapi/definition/attributes.js';
import {
  type DeriveSource,
  defineResource,
  type ResourceDefinition,
} from '../../jsonapi/definition/definition.js';
import type { Row } from '../../jsonapi/store.js';

export interface CommandTypeServices {
  conditionsOf: typeof conditionsOf;
  keysOf: typeof keysOf;
}

const read = { write: 'never' } as const;
const known = { ...read, nullable: false } as const;

/** In an order that reads well as a table, where the id says the request type already. */
const OF_COMMAND = {
  role: oneOf(['operator', 'admin'], known),
  is_destructive: bool(known),
  platforms: text({ ...known, hasSeveralValues: true }),
  title: text(known),
  request_type: text(known),
  requirements: json({ ...known, heavy: true }),
  keys: json({ ...known, heavy: true, derivedFrom: ['request_type'] }),
  conditions: json({ ...known, heavy: true, derivedFrom: ['request_type'] }),
  response_keys: json({ ...known, heavy: true, derivedFrom: ['request_type'] }),
};

/** What is known for one device only. */
export const FOR_DEVICE = { eligible: bool(known), reasons: json(known), warnings: json(known) };

/** Apple's commands, from its schema: there is no table of them. */
export const commandTypes = define(OF_COMMAND);

/** The same, with what holds for one device. */
export const commandTypesOfDevice = define({ ...OF_COMMAND, ...FOR_DEVICE });

function define(attributes: ResourceDefinition['attributes']) {
  const definition = defineResource<CommandTypeServices>({
    type: 'command_types',
    path: '/command_types',
    table: '',
    namedBy: 'request_type',
    access: { read: 'viewer', create: null, update: null, delete: null },
    attributes,
    relationships: {},
    derive,
  });
  return { ...definition, namedBy: 'request_type' };
}

function derive(
  name: string,
  { request_type }: Row,
  { services }: DeriveSource<CommandTypeServices>,
): unknown {
  if (name === 'conditions') return services.conditionsOf(String(request_type));
  return services.keysOf(String(request_type), name === 'keys' ? 'keys' : 'response');
}
