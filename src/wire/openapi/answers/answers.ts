/**
 * What the document says of answers: a schema for each type that a monitor answers with, by the name under which the package
 * exports it. In the order of areas: `job-answers.ts`, `cell-answers.ts`, `access-answers.ts`; `parts.ts` has what several have in
 * them, `answer-examples.ts` one of each.
 */
import { z } from 'zod';
import * as access from './access-answers.ts';
import * as cell from './cell-answers.ts';
import * as job from './job-answers.ts';
import * as parts from './parts.ts';

export const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  ...{ Problem: job.problem, Exit: parts.exit, Restarts: parts.restarts, Allocation: parts.allocation },
  ...{ AllocationReport: parts.report, AllocationStatus: job.allocationStatus },
  ...{ SubmitAnswer: job.submitAnswer, BulkAnswer: job.bulkAnswer, JobSummary: job.jobSummary },
  ...{ JobListAnswer: job.jobListAnswer, JobStatus: job.jobStatus, HistoryAnswer: job.historyAnswer },
  PlanAnswer: job.planAnswer,
  ...{ Why: job.why, RunAnswer: job.runAnswer, RunExit: job.runExit, CellUsage: job.cellUsage },
  ...{ AllocationListAnswer: job.allocationListAnswer, CommandStatus: job.commandStatus },
  SignalAnswer: job.signalAnswer,
  ...{ HostStatus: cell.hostStatus, HostListAnswer: cell.hostListAnswer, CellStatus: cell.cellStatus },
  ...{ SchedulerListAnswer: cell.schedulerListAnswer, SharedStatus: cell.sharedStatus },
  ...{ ScrapeTargets: cell.scrapeTargets, QuotaStatus: cell.quotaStatus },
  ...{ QuotaListAnswer: cell.quotaListAnswer, PausesAnswer: cell.pausesAnswer },
  AlarmsAnswer: cell.alarmsAnswer,
  ...{ VerdictsAnswer: cell.verdictsAnswer, RemedyPolicy: cell.remedyPolicy },
  BudgetsAnswer: cell.budgetsAnswer,
  ...{ VolumeListAnswer: cell.volumeListAnswer, NameAnswer: cell.nameAnswer },
  ...{ NameListAnswer: cell.nameListAnswer, NameFrame: cell.nameFrame, CellEvent: cell.cellEvent },
  ...{ ReportFrame: cell.reportFrame, VersionAnswer: cell.versionAnswer },
  ...{ WhoAmI: access.whoAmI, NewToken: access.newToken, TokenListAnswer: access.tokenListAnswer },
  ...{ OpenIdStatus: access.openIdStatus, OpenIdListAnswer: access.openIdListAnswer },
  ...{ SecretListAnswer: access.secretListAnswer, HostKeyAnswer: access.hostKeyAnswer },
  ...{ NewInvitation: access.newInvitation, InvitationListAnswer: access.invitationListAnswer },
  ...{ JoinAnswer: access.joinAnswer, AuditAnswer: access.auditAnswer },
};

/** As components of the document: each refers to the others by name, and none forbids what a newer monitor adds. */
export function answerSchemas(): Readonly<Record<string, unknown>> {
  const registry = z.registry<{ readonly id: string }>();
  for (const [id, schema] of Object.entries(ANSWERS)) registry.add(schema, { id });
  const uri = (id: string): string => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { io: 'input', unrepresentable: 'any', uri });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _dialect, $id: _id, ...rest }]) => [id, rest]),
  );
}
