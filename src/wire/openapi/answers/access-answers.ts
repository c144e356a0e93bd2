import { z } from 'zod';
import type { InvitationState } from '../../../core/access/invitation.ts';
import { SCOPES } from '../../../core/access/person.ts';
import type { AuditAnswer } from '../../access/audit-api.ts';
import type { OpenIdListAnswer, OpenIdStatus } from '../../access/openid-api.ts';
import type { HostKeyAnswer, SecretListAnswer } from '../../access/secret-api.ts';
import type { NewToken, TokenListAnswer, TokenStatus, WhoAmI } from '../../access/token-api.ts';
import { whole } from '../../codec/codec.ts';
import type { InvitationListAnswer, JoinAnswer, NewInvitation } from '../../join/join.ts';
import { auditCodec, signedBundleCodec } from '../../records/records.ts';
import { maybe, text, texts } from './parts.ts';

const scope = z.enum(SCOPES);

export const whoAmI: z.ZodType<WhoAmI> = z.object({
  ...{ kind: z.enum(['certificate', 'token', 'trusted']), name: text, cell: text, scope: scope.nullable() },
  ...{ namespaces: texts.nullable(), endsAtMs: whole.nullable() },
});

const token = {
  ...{ id: text, name: text, scope, namespaces: texts.nullable() },
  ...{ createdBy: text, createdAtMs: whole, endsAtMs: whole },
};
const tokenStatus: z.ZodType<TokenStatus> = z.object(token);

export const newToken: z.ZodType<NewToken> = z.object({ ...token, token: text });

export const tokenListAnswer: z.ZodType<TokenListAnswer> = z.object({ tokens: z.array(tokenStatus) });

export const openIdStatus: z.ZodType<OpenIdStatus> = z.object({
  ...{ name: text, issuer: text, audience: text, namespacesClaim: text, scopeClaim: maybe(text) },
  ...{ authorities: maybe(text), setBy: text, setAtMs: whole },
  keys: z.object({ readAtMs: whole.nullable(), count: whole, fault: text.nullable() }),
});

export const openIdListAnswer: z.ZodType<OpenIdListAnswer> = z.object({ providers: z.array(openIdStatus) });

export const secretListAnswer: z.ZodType<SecretListAnswer> = z.object({
  secrets: z.array(z.object({ namespace: text, name: text, setBy: text, setAtMs: whole })),
});

export const hostKeyAnswer: z.ZodType<HostKeyAnswer> = z.object({ cell: text, certificate: text });

const invitation = { id: text, host: text, hosts: texts, createdBy: text, endsAtMs: whole };
const STATES = ['open', 'asked', 'used', 'ended'] as const satisfies readonly InvitationState[];

export const newInvitation: z.ZodType<NewInvitation> = z.object({ ...invitation, shown: text });

export const invitationListAnswer: z.ZodType<InvitationListAnswer> = z.object({
  invitations: z.array(
    z.object({
      ...{ ...invitation, createdAtMs: whole, state: z.enum(STATES), askedAtMs: whole.nullable() },
    }),
  ),
});

export const joinAnswer: z.ZodType<JoinAnswer> = z.union([
  z.object({ state: z.literal('waiting') }),
  z.object({ state: z.literal('answered'), answer: signedBundleCodec.schema }),
]);

export const auditAnswer: z.ZodType<AuditAnswer> = z.object({
  records: z.array(auditCodec.schema),
  isCut: z.boolean(),
});
