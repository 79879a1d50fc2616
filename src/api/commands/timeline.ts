import { z } from 'zod';
import { maskForViewers } from '../../commands/secrets/viewer-mask.js';
import type { Diagnoses } from '../../diagnosis/diagnoses.js';
import { notFound } from '../../errors.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { pathId, refuseParameters } from '../request-parts.js';

export interface TimelineRouteDeps {
  api: ApiContext;
  diagnoses: Pick<Diagnoses, 'timeline'>;
}

const time = z.string().meta({ format: 'date-time' });

const TIMELINE = {
  type: 'command_timelines',
  attributes: z.strictObject({
    request_type: z.string(),
    status: z.string().describe('Of the command.'),
    read_at: time.describe('When the facts were read: now.'),
    steps: z
      .array(
        z.strictObject({
          time: time.nullable().describe('Null: not recorded. Of a command that waits: now.'),
          code: z.string().describe('Stable; docs/commands.md lists all.'),
          message: z.string().describe('What happened, or why the command waits.'),
          advice: z.string().nullable().describe('What to do; null: nothing.'),
          data: z.record(z.string(), z.unknown()).describe('The facts of the message.'),
        }),
      )
      .describe('In order of time. The last one of a command that is not final says why it waits.'),
  }),
};

/** What happened to a command, and why it waits. */
export function timelineRoute({ api, diagnoses }: TimelineRouteDeps): ApiRoute {
  const GET: ApiOperation = {
    operationId: 'readCommandTimeline',
    tag: 'commands',
    role: 'viewer',
    summary: 'Find out what happened to a command and why it waits',
    description:
      'Each step with its time and cause, by the facts that are stored: of the pushes of the device ' +
      'the last one, of the answers NotNow the first and the last.',
    answers: [
      {
        status: 200,
        description: 'The steps.',
        content: [jsonApiContent(ownDocumentSchema(TIMELINE))],
      },
    ],
    errors: [400, 404],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const id = pathId(req, 'id', 'commands');
        const timeline = await diagnoses.timeline(id);
        if (timeline === undefined) throw notFound(`commands ${id}`);
        const { requestType, status, at, steps } = timeline;
        const attributes = {
          request_type: requestType,
          status,
          read_at: formatTimestamp(at),
          steps: steps.map((step) => ({
            time: step.time === null ? null : formatTimestamp(step.time),
            code: step.code,
            message: maskForViewers(step.message),
            advice: step.advice,
            data: maskForViewers(step.data),
          })),
        };
        const self = `${api.basePath}/commands/${id}/timeline`;
        const document = ownDocument(TIMELINE, { id, attributes, self });
        sendAnswer(req, res, { status: 200, document });
      },
    ],
  };
  return { path: '/commands/{id}/timeline', methods: { GET } };
}
