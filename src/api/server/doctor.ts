import { z } from 'zod';
import type { Doctor, DoctorReport } from '../../doctor/doctor.js';
import { FINDING_SEVERITIES } from '../../doctor/finding.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { refuseParameters } from '../request-parts.js';

export interface DoctorRouteDeps {
  api: ApiContext;
  doctor: Pick<Doctor, 'examine'>;
}

const PATH = '/doctor';

const severity = z.enum(FINDING_SEVERITIES);

const DOCTOR = {
  type: 'doctor_reports',
  onlyId: 1,
  attributes: z.strictObject({
    status: severity.describe('The worst of the findings.'),
    checked_at: z.string().meta({ format: 'date-time' }).describe('When the checks ended.'),
    findings: z
      .array(
        z.strictObject({
          check: z.string().describe('The check that found it.'),
          code: z.string().describe('Stable; docs/operations.md lists the checks.'),
          severity,
          what: z.string().describe('What was found, with the facts.'),
          why: z.string().nullable().describe('Why it matters; null where all is well.'),
          cure: z.string().nullable().describe('The command or step that cures it.'),
        }),
      )
      .describe('The worst first.'),
  }),
};

/** What is wrong with this server and with what is around it. */
export function doctorRoutes({ api, doctor }: DoctorRouteDeps): ApiRoute[] {
  const GET: ApiOperation = {
    operationId: 'examineServer',
    tag: 'configuration',
    role: 'admin',
    summary: 'Examine the server and what is around it',
    description:
      'As `muster doctor`, from within the process that answers: the public address as devices ' +
      "reach it, clocks, database, disk, files, settings, credentials, Apple's push service and " +
      'jobs. Each check has a time limit; the answer takes up to 20 seconds where something does ' +
      'not answer. Requests at the same time share one examination.',
    answers: [
      {
        status: 200,
        description: 'The findings, whatever they are.',
        content: [jsonApiContent(ownDocumentSchema(DOCTOR))],
      },
    ],
    errors: [400],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const attributes = reportAttributes(await doctor.examine());
        const document = ownDocument(DOCTOR, { id: 1, attributes, self: api.basePath + PATH });
        sendAnswer(req, res, { status: 200, document });
      },
    ],
  };
  return [{ path: PATH, methods: { GET } }];
}

/** As the command prints it with --json, too. */
export function reportAttributes({ status, findings, at }: DoctorReport): Record<string, unknown> {
  return {
    status,
    checked_at: formatTimestamp(at),
    findings: findings.map(({ check, code, severity: found, what, why, cure }) => {
      return { check, code, severity: found, what, why, cure };
    }),
  };
}
