#include "ns3/hrl-planner.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-prior.h"
#include "ns3/allreduce-state.h"
#include "ns3/allreduce-bounds.h"
#include "ns3/plan-middle.h"
#include "ns3/topology-spec.h"
#include "ns3/topology-modifiers.h"
#include <iostream>
#include <ctime>
using namespace ns3; using namespace ns3::allreduce;
static double now(){ timespec a; clock_gettime(CLOCK_THREAD_CPUTIME_ID,&a); return a.tv_sec+1e-9*a.tv_nsec; }
int main(int ac,char**av){ PolicyWeights w=std::string(av[1])=="prior"?MakePrior(1):ReadCheckpoint(av[1]); Topology t=ParseTopology(av[2]); uint32_t m=atoi(av[3]); if(ac>5) t=Degrade(t,atof(av[5]),3); auto roots=MakeRoots(t.GetNServers(),m); double a=now(); uint32_t b=ComputeLowerBounds(t,roots).GetBest().rounds; double c=now(); auto mid=ChooseMiddle(t,roots,b+4,1); double d=now(); auto p=PlanFromMiddle(t,roots,w,{},atoi(av[4])); double e=now(); std::cout<<av[2]<<" m "<<m<<" bound "<<b<<" rounds "<<p.size()<<" : bounds "<<c-a<<" s, middle "<<d-c<<" s, plan "<<e-d<<" s\n"; }
