"""The search domain: OpenSearch 2.19, with two fences around it.

1. IAM, by role and path: the domain's policy opens to each function the paths that it calls, and to nobody else any.
2. The domain's own roles (fine-grained access control), mapped to the functions' roles. They say what a path cannot:
   which indices the lines of one `_msearch` or `_bulk` may name, and that nobody reads a document by another way. Since
   such mappings can only be made through the domain's interface, a custom resource makes them (`search_access.py`) with
   the domain's one master role, which nobody else may take on. So no step is left to a person.

The domain has a public address by default. Whoever reaches it still needs a signature of one of these roles, and TLS; a
network of its own costs endpoints by the hour for DynamoDB's and the model's sake and slows no attacker who has a role.
With `vpc` it lies inside one.

Slow logs are published, but OpenSearch writes none until an index has thresholds: a slow query is logged whole, with
the words that were asked (IF-1). Whoever sets thresholds to look for a cause takes them away again.
"""

from __future__ import annotations

from pathlib import Path

import jsii
from aws_cdk import Aws, CustomResource, Duration, Fn, IStableListProducer, Lazy, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_opensearchservice as opensearch
from constructs import Construct

from infra.constructs.logging import log_group
from infra.roles import ALIASES, INDEX_PATHS, MAINTENANCE_PATHS, SEARCH_PATHS, Needs, Paths, search_roles
from infra.stages import StageError, StageSettings

VERSION = "OpenSearch_2.19"
_ACCESS = Path(__file__).parents[1] / "search_access.py"
_LOGS = {"SEARCH_SLOW_LOGS": "SlowSearches", "INDEX_SLOW_LOGS": "SlowWrites", "ES_APPLICATION_LOGS": "Errors"}


SECURITY_PATHS: Paths = {"ESHttpPut": ("_plugins/_security/api/*",)}


@jsii.implements(IStableListProducer)
class Mapped:
    """IAM roles that are mapped to one role of the domain, as they stand when the template is written."""

    def __init__(self) -> None:
        self._roles: list[iam.IRole] = []

    def add(self, role: iam.IRole) -> None:
        self._roles.append(role)

    def arns(self) -> list[str]:
        return Lazy.list(self)

    def produce(self) -> list[str]:
        return [role.role_arn for role in self._roles]


class Search(Construct):
    """`open` what roles may call, then `build`: the domain's policy names roles that are there before it."""

    def __init__(self, scope: Construct, id: str, *, stage: StageSettings, vpc: ec2.IVpc | None) -> None:
        super().__init__(scope, id)
        self._stage = stage
        self._vpc = vpc
        # At most 28 characters; made from the construct's path, so that no two deployments share it. Given, not left to
        # CloudFormation, since the domain's own policy and the roles need its ARN before it is there.
        self.name = f"memory-{stage.name}-{self.node.addr[-8:]}"
        self.arn = f"arn:{Aws.PARTITION}:es:{Aws.REGION}:{Aws.ACCOUNT_ID}:domain/{self.name}"
        self.master = iam.Role(self, "Master", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self._statements: list[iam.PolicyStatement] = []
        self._searchers = {alias: Mapped() for alias in ALIASES}
        self._indexers, self._maintainers = Mapped(), Mapped()

    def open(self, role: iam.IRole, needs: Needs) -> None:
        """Let the role call what it needs of the domain. After `build` too; then its own policy alone says so, which
        IAM takes as well within one account."""
        if needs.searches:
            self._allow(role, SEARCH_PATHS)
        for alias in needs.searches:
            self._searchers[alias].add(role)
        for needed, paths, mapped in (
            (needs.indexes, INDEX_PATHS, self._indexers),
            (needs.maintains, MAINTENANCE_PATHS, self._maintainers),
        ):
            if needed:
                self._allow(role, paths)
                mapped.add(role)

    def build(self) -> None:
        """Make the domain, and its own roles."""
        self._allow(self.master, SECURITY_PATHS)
        self.domain = self._domain()
        self.endpoint = Fn.join("", ["https://", self.domain.attr_domain_endpoint])
        searchers = {alias: mapped.arns() for alias, mapped in self._searchers.items()}
        self._map(search_roles(searchers, self._indexers.arns(), self._maintainers.arns()))

    def _allow(self, role: iam.IRole, paths: Paths) -> None:
        for verb, below in paths.items():
            actions, resources = [f"es:{verb}"], [f"{self.arn}/{path}" for path in below]
            role.add_to_principal_policy(iam.PolicyStatement(actions=actions, resources=resources))
            self._statements.append(iam.PolicyStatement(actions=actions, resources=resources, principals=[role]))

    def _domain(self) -> opensearch.CfnDomain:
        size, types = self._stage.search, opensearch.CfnDomain
        domain = types(
            self,
            "Domain",
            domain_name=self.name,
            engine_version=VERSION,
            cluster_config=types.ClusterConfigProperty(
                instance_type=size.node_type,
                instance_count=size.nodes,
                dedicated_master_enabled=size.managers > 0,
                dedicated_master_type=size.manager_type,
                dedicated_master_count=size.managers or None,
                zone_awareness_enabled=size.zones > 1,
                zone_awareness_config=types.ZoneAwarenessConfigProperty(availability_zone_count=size.zones)
                if size.zones > 1
                else None,
            ),
            ebs_options=types.EBSOptionsProperty(ebs_enabled=True, volume_type="gp3", volume_size=size.disk_gib),
            encryption_at_rest_options=types.EncryptionAtRestOptionsProperty(
                enabled=True, kms_key_id=self._stage.customer_key_arn
            ),
            node_to_node_encryption_options=types.NodeToNodeEncryptionOptionsProperty(enabled=True),
            domain_endpoint_options=types.DomainEndpointOptionsProperty(
                enforce_https=True, tls_security_policy="Policy-Min-TLS-1-2-PFS-2023-10"
            ),
            advanced_security_options=types.AdvancedSecurityOptionsInputProperty(
                enabled=True,
                internal_user_database_enabled=False,
                master_user_options=types.MasterUserOptionsProperty(master_user_arn=self.master.role_arn),
            ),
            access_policies=iam.PolicyDocument(statements=self._statements),
            log_publishing_options=self._log_options(),
            software_update_options=types.SoftwareUpdateOptionsProperty(auto_software_update_enabled=True),
            off_peak_window_options=types.OffPeakWindowOptionsProperty(enabled=True),
            vpc_options=self._network(),
        )
        domain.apply_removal_policy(RemovalPolicy.RETAIN if self._stage.retained else RemovalPolicy.DESTROY)
        domain.node.add_dependency(self._log_policy)
        return domain

    def _log_options(self) -> dict[str, opensearch.CfnDomain.LogPublishingOptionProperty]:
        groups = {kind: log_group(self, id, self._stage) for kind, id in _LOGS.items()}
        writer = iam.PolicyStatement(
            principals=[iam.ServicePrincipal("es.amazonaws.com")],
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[group.log_group_arn for group in groups.values()],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}, "ArnLike": {"aws:SourceArn": self.arn}},
        )
        self._log_policy = logs.CfnResourcePolicy(
            self,
            "LogPolicy",
            policy_name=self.name,
            policy_document=Stack.of(self).to_json_string(iam.PolicyDocument(statements=[writer])),
        )
        option = opensearch.CfnDomain.LogPublishingOptionProperty
        return {
            kind: option(cloud_watch_logs_log_group_arn=group.log_group_arn, enabled=True)
            for kind, group in groups.items()
        }

    def _network(self) -> opensearch.CfnDomain.VPCOptionsProperty | None:
        if self._vpc is None:
            return None
        group = ec2.SecurityGroup(self, "Firewall", vpc=self._vpc, allow_all_outbound=False)
        group.add_ingress_rule(ec2.Peer.ipv4(self._vpc.vpc_cidr_block), ec2.Port.tcp(443), "the functions")
        zones = self._stage.search.zones
        subnets = self._vpc.isolated_subnets[:zones]
        if len(subnets) < zones:
            raise StageError(f"search.zones: the network has isolated subnets in {len(subnets)} of {zones} zones.")
        return opensearch.CfnDomain.VPCOptionsProperty(
            subnet_ids=[subnet.subnet_id for subnet in subnets], security_group_ids=[group.security_group_id]
        )

    def _map(self, roles: dict[str, dict[str, object]]) -> None:
        group = log_group(self, "MasterLogs", self._stage)
        group.grant_write(self.master)
        function = lambda_.Function(
            self,
            "Access",
            code=lambda_.Code.from_inline(_ACCESS.read_text("utf-8")),
            handler="index.handler",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            role=self.master,
            timeout=Duration.minutes(5),
            log_group=group,
            logging_format=lambda_.LoggingFormat.JSON,
            vpc=self._vpc,
        )
        self.access = CustomResource(
            self,
            "Roles",
            service_token=function.function_arn,
            properties={"Endpoint": self.endpoint, "Roles": Stack.of(self).to_json_string(roles)},
        )
        self.access.node.add_dependency(self.domain)
