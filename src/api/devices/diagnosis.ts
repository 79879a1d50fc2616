import { z } from 'zod';
import { type Diagnoses, type Diagnosis, SEVERITIES } from '../../diagnosis/diagnoses.js';
import { notFound } from '../../errors.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { pathId, refuseParameters } from '../request-parts.js';

export interface DiagnosisRouteDeps {
  api: ApiContext;
  diagnoses: Pick<Diagnoses, 'of' | 'summary'>;
}

const time = z.string().meta({ format: 'date-time' });

const ACTION = z
  .strictObject({
    method: z.enum(['POST', 'PATCH']),
    path: z.string(),
    body: z.record(z.string(), z.unknown()).nullable(),
  })
  .nullable()
  .describe('A request that does what the advice says; null: there is none.');

const DIAGNOSIS = {
  type: 'device_diagnoses',
  attributes: z.strictObject({
    health: z
      .enum(['ok', 'attention', 'stuck'])
      .nullable()
      .describe('The worst of the findings; null: not enrolled, and nothing is wrong.'),
    diagnosed_at: time.describe('When the facts were read: now.'),
    findings: z
      .array(
        z.strictObject({
          code: z.string().describe('Stable; docs/diagnosis.md lists all.'),
          severity: z
            .enum(SEVERITIES)
            .describe('`info` says why the device does nothing, and does not change its health.'),
          since: time.describe('Since when, as far as it is known.'),
          message: z.string().describe('What is wrong, with the facts.'),
          advice: z
            .string()
            .describe('The next step. The finding ends by itself once it has helped.'),
          action: ACTION,
        }),
      )
      .describe('The worst first.'),
  }),
};

/** Why a device does not do what it should. */
export function diagnosisRoutes({ api, diagnoses }: DiagnosisRouteDeps): ApiRoute[] {
  const GET: ApiOperation = {
    operationId: 'readDeviceDiagnosis',
    tag: 'devices',
    role: 'viewer',
    summary: 'Find out why a device does not do what it should',
    description:
      'Findings by the facts as they are now, each with the next step. `health` of the device is ' +
      'kept by the same rules.',
    answers: [
      {
        status: 200,
        description: 'The findings.',
        content: [jsonApiContent(ownDocumentSchema(DIAGNOSIS))],
      },
    ],
    errors: [400, 404],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const id = pathId(req, 'id', 'devices');
        const diagnosis = await diagnoses.of(id);
        if (diagnosis === undefined) throw notFound(`devices ${id}`);
        const self = `${api.basePath}/devices/${id}/diagnosis`;
        const attributes = attributesOf(diagnosis);
        sendAnswer(req, res, {
          status: 200,
          document: ownDocument(DIAGNOSIS, { id, attributes, self }),
        });
      },
    ],
  };
  return [{ path: '/devices/{id}/diagnosis', methods: { GET } }, summaryRoute({ api, diagnoses })];
}

function attributesOf({ health, findings, at }: Diagnosis): Record<string, unknown> {
  return {
    health,
    diagnosed_at: formatTimestamp(at),
    findings: findings.map(({ code, severity, since, message, advice, action }) => ({
      code,
      severity,
      since: formatTimestamp(since),
      message,
      advice,
      action,
    })),
  };
}

const count = z.int().min(0);

const SUMMARY = {
  type: 'health_summaries',
  onlyId: 1,
  attributes: z.strictObject({
    health: z
      .strictObject({ ok: count, attention: count, stuck: count })
      .describe('Devices by health; `/devices?filter[health]=stuck` lists them.'),
    findings: z
      .array(z.strictObject({ code: z.string(), severity: z.enum(SEVERITIES), count }))
      .describe('Devices by finding, the worst and most frequent first.'),
  }),
};

function summaryRoute({ api, diagnoses }: DiagnosisRouteDeps): ApiRoute {
  const GET: ApiOperation = {
    operationId: 'readHealthSummary',
    tag: 'devices',
    role: 'viewer',
    summary: 'Count the devices by health and by finding',
    description: 'A finding is counted within seconds after it begins or ends.',
    answers: [
      {
        status: 200,
        description: 'The counts.',
        content: [jsonApiContent(ownDocumentSchema(SUMMARY))],
      },
    ],
    errors: [400],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const { health, findings } = await diagnoses.summary();
        const attributes = { health, findings };
        const self = `${api.basePath}/health_summary`;
        const document = ownDocument(SUMMARY, { id: 1, attributes, self });
        sendAnswer(req, res, { status: 200, document });
      },
    ],
  };
  return { path: '/health_summary', methods: { GET } };
}
