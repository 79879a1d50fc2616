import {
  bool,
  integer,
  json,
  jsonObject,
  oneOf,
  text,
  timestamp,
  uuid,
} from '../../jsonapi/definition/attributes.js';
import { defineResource } from '../../jsonapi/definition/definition.js';
import { device, operatorWrites } from '../common.js';
import {
  type CommandServices,
  commandFaults,
  createCommand,
  furtherFaults,
  planCommand,
  prepareCommands,
  presentCommand,
  removeCommand,
  updateCommand,
} from './command-operations.js';

export const COMMAND_STATUSES = [
  'Queued',
  'Sent',
  'Acknowledged',
  'Error',
  'CommandFormatError',
  'NotNow',
  'Expired',
  'Cancelled',
] as const;

const FORCE =
  "Queues the command also where Apple's schema says that the device does not take it or a key of it. Needs the " +
  "role admin. On a person's own device it changes nothing.";

export const commands = defineResource<CommandServices>({
  type: 'commands',
  path: '/commands',
  table: 'commands',
  narrowed: {
    attribute: 'status',
    flag: { column: 'is_pending', values: ['Queued', 'Sent', 'NotNow'] },
    listed: {
      table: 'ended_commands',
      id: 'command_id',
      values: ['Error', 'CommandFormatError', 'Expired', 'Cancelled'],
    },
  },
  risesWithId: 'queued_at',
  timesByPages: ['sent_at', 'acknowledged_at'],
  access: operatorWrites,
  attributes: {
    uuid: uuid({ write: 'never' }),
    request_type: text({ write: 'create', required: true, min: 1, max: 100 }),
    parameters: jsonObject({
      write: 'create',
      heavy: true,
      derivedFrom: ['uuid', 'request_type', 'plist', 'payload_sha256', 'payload_values'],
    }),
    status: oneOf(COMMAND_STATUSES, { write: 'update', nullable: false, accepts: ['Cancelled'] }),
    queued_at: timestamp({ write: 'never' }),
    sent_at: timestamp({ write: 'never' }),
    acknowledged_at: timestamp({ write: 'never' }),
    after: timestamp(),
    expires_at: timestamp(),
    priority: integer({ nullable: false }),
    ttl: integer({ write: 'create', nullable: false, min: 1, max: 1000 }),
    attempts: integer({ write: 'never' }),
    is_forced: bool({ write: 'never' }),
    reason: text({ write: 'never' }),
    error_chain: json({ write: 'never', derivedFrom: ['error_chain'] }),
    result: json({
      write: 'never',
      heavy: true,
      derivedFrom: ['uuid', 'request_type', 'result'],
    }),
  },
  relationships: {
    device: { ...device, write: 'create' },
    // The user that the command is for; null: the device itself.
    user: { kind: 'toOne', type: 'device_users', column: 'device_user_id', write: 'create' },
    // That it was queued with; null: on its own.
    batch: { kind: 'toOne', type: 'command_batches', column: 'command_batch_id', write: 'never' },
  },
  operations: {
    faults: commandFaults,
    furtherFaults,
    create: createCommand,
    plan: planCommand,
    update: updateCommand,
    delete: removeCommand,
  },
  createFlags: { force: FORCE },
  prepare: prepareCommands,
  derive: presentCommand,
});
